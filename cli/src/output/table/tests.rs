//! Tests of how tables fit a width: which values are cut and which columns hidden.

use super::*;

fn table() -> Table {
    let columns = [
        Column::new("ID", 0),
        Column::flexible("NAME", 1),
        Column::flexible("FEATURES", 3),
        Column::new("SEATS", 2),
    ];
    let row = |id, name, features, seats| {
        vec![
            TextCell::text(id),
            TextCell::text(name),
            TextCell::text(features),
            TextCell::text(seats),
        ]
    };
    Table::new(&columns).with([
        row("pln_1", "Professional, yearly", "export,sso,api", "5"),
        row("pln_2", "年間プロフェッショナル版", "", "no limit"),
    ])
}

fn style(width: Option<usize>) -> Style {
    Style { screen: true, color: false, width, headers: true }
}

fn at(width: usize) -> (String, Vec<&'static str>) {
    table().draw(style(Some(width)))
}

#[test]
fn a_pipe_gets_every_column_whole() {
    let style = Style { screen: false, ..style(Some(20)) };
    insta::assert_snapshot!(table().draw(style).0, @"
    ID     NAME                      FEATURES        SEATS
    pln_1  Professional, yearly      export,sso,api  5
    pln_2  年間プロフェッショナル版                  no limit
    ");
}

#[test]
fn flexible_columns_shrink_first() {
    insta::assert_snapshot!(at(44).0, @"
    ID     NAME           FEATURES      SEATS
    pln_1  Professional…  export,sso,…  5
    pln_2  年間プロフェ…  -             no limit
    ");
    assert!(at(44).1.is_empty());
}

#[test]
fn then_the_least_important_column_goes_and_is_named() {
    let (text, hidden) = at(30);
    insta::assert_snapshot!(text, @"
    ID     NAME           SEATS
    pln_1  Professional…  5
    pln_2  年間プロフェ…  no limit
    ");
    assert_eq!(hidden, ["FEATURES"]);
}

#[test]
fn no_line_is_wider_than_the_terminal_while_anything_can_give() {
    for width in 17..200 {
        let (text, _) = at(width);
        assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
        assert!(text.contains("pln_2"), "ids are never cut");
    }
}

#[test]
fn colour_is_added_only_on_request() {
    let table =
        Table::new(&[Column::new("S", 0)]).with([vec![TextCell::text("ok").toned(Tone::Good)]]);
    let (plain, _) = table.draw(style(None));
    let (colored, _) = table.draw(Style { color: true, ..style(None) });
    assert_eq!(plain, "S\nok\n");
    assert!(colored.contains("\u{1b}["), "{colored:?}");
}

#[test]
fn columns_without_values_go_first_and_unnamed() {
    let columns = [Column::new("ID", 0), Column::new("NOTE", 1), Column::new("SEATS", 2)];
    let row = ["pln_1", "", "5"].map(TextCell::text).to_vec();
    let table = Table::new(&columns).with([row]);
    let (text, hidden) = table.draw(style(Some(14)));
    assert_eq!((text.as_str(), hidden), ("ID     SEATS\npln_1  5\n", vec![]));
    let (text, _) = table.draw(style(None));
    assert_eq!(text, "ID     NOTE  SEATS\npln_1  -     5\n");
}

#[test]
fn a_kept_column_is_cut_when_all_others_are_gone() {
    let columns = [Column::new("ID", 0), Column::flexible("PLAN", 1), Column::kept("STATUS")];
    let row = ["lic_0123456789", "Professional", "active (expired 3d ago)"].map(TextCell::text);
    let table = Table::new(&columns).with([row.to_vec()]);
    let (text, hidden) = table.draw(style(Some(30)));
    assert_eq!(text, "ID              STATUS\nlic_0123456789  active (expir…\n");
    assert_eq!(hidden, ["PLAN"]);
    let (text, _) = table.draw(style(Some(49)));
    assert!(text.contains("Profess… "), "{text}");
}

#[test]
fn an_extra_column_is_shown_when_chosen() {
    let table = Table::new(&[Column::new("ID", 0), Column::extra("CREATED")]);
    let table = table.with([["pln_1", "today"].map(TextCell::text).to_vec()]);
    assert_eq!(table.draw(style(None)), ("ID\npln_1\n".to_owned(), vec![]));
    assert_eq!(table.draw(style(Some(5))), ("ID\npln_1\n".to_owned(), vec![]));
    let chosen = table.choose(&"created,id".parse().unwrap()).unwrap();
    assert_eq!(chosen.draw(style(None)).0, "CREATED  ID\ntoday    pln_1\n");
}

#[test]
fn chosen_columns_stay_and_titles_go() {
    let chosen = table().choose(&"seats,name".parse().unwrap()).unwrap();
    let (text, hidden) = chosen.draw(Style { headers: false, ..style(Some(20)) });
    assert_eq!(text, "5         Professio…\nno limit  年間プロ…\n");
    assert!(hidden.is_empty());
    assert!(table().choose(&"nope".parse().unwrap()).is_err());
}
