//! Names that several records share: how output distinguishes them, and how licctl prevents a
//! second one.

use serde_json::{Value, json};

use crate::support::{FakeServer, Home, OTHER_KEY, Reply, answer, key, plan, product, service};

/// Products that each have a plan `Pro`. The last digits of the ids are the product's number.
fn with_products(count: usize) -> FakeServer {
    let id = |kind: &str, number| format!("{kind}_01h455vb4pex5vsknk084sn{number:03}");
    let products: Vec<Value> = (1..=count)
        .map(|number| {
            let mut product = product(&format!("Product {number}"));
            product["id"] = id("prd", number).into();
            product
        })
        .collect();
    let plans: Vec<Value> = (1..=count)
        .map(|number| {
            let mut plan = plan("Pro");
            plan["id"] = id("pln", number).into();
            plan["productId"] = id("prd", number).into();
            plan
        })
        .collect();
    FakeServer::answering(move |request| {
        let path = request.path.split('?').next().unwrap();
        let of = request.path.split("productId=").nth(1).and_then(|rest| rest.split('&').next());
        match (request.method.as_str(), path) {
            ("GET", "/api/v1/admin/products") => Reply::list(&products),
            ("GET", "/api/v1/admin/plans") => {
                let plans =
                    plans.iter().filter(|plan| of.is_none_or(|of| plan["productId"] == *of));
                Reply::list(&plans.cloned().collect::<Vec<_>>())
            }
            ("GET", path) => {
                let mut records = products.iter().chain(&plans);
                match records.find(|record| path.ends_with(record["id"].as_str().unwrap())) {
                    Some(record) => Reply::data(200, record),
                    None => answer(request),
                }
            }
            _ => answer(request),
        }
    })
}

/// The plan of which a license was created.
fn planned(server: &FakeServer) -> Value {
    let writes = server.received().into_iter().filter(|request| request.method == "POST");
    writes.collect::<Vec<_>>().last().map_or(Value::Null, |request| request.body["planId"].clone())
}

/// A key that was rolled and its successor have one name.
#[test]
fn the_name_of_keys_means_the_one_that_is_valid() {
    let keys = ["2026-01-31T12:00:00.000Z", "2999-01-31T12:00:00.000Z"].map(|end| {
        let mut key = key();
        key["expiresAt"] = end.into();
        key["id"] = format!("key_01h455vb4pex5vsknk084sn{}", &end[1..4]).into();
        key
    });
    let valid = keys[1]["id"].as_str().unwrap().to_owned();
    let server = FakeServer::answering(move |request| match request.method.as_str() {
        "GET" if request.path.starts_with("/api/v1/admin/keys") => Reply::list(&keys),
        _ => answer(request),
    });
    let ran = Home::with(&server).run(&["keys", "roll", "ci"]);
    assert_eq!((ran.code, ran.stdout.trim()), (0, OTHER_KEY), "{}", ran.stderr);
    let sent = server.received().pop().unwrap();
    assert_eq!(sent.path, format!("/api/v1/admin/keys/{valid}/roll"));
    assert_eq!(sent.body, json!({ "overlapSeconds": 86_400 }));
}

#[test]
fn the_matches_of_a_name_show_their_products() {
    let ran = Home::with(&with_products(7)).run(&["licenses", "create", "--plan", "Pro"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    let lines: Vec<&str> = ran.stderr.lines().collect();
    let [what, matches, fix] = lines[..] else { panic!("{}", ran.stderr) };
    assert_eq!(what, "error: Pro matches 7 plans.");
    assert!(
        matches.contains("pln_01h455vb4pex5vsknk084sn005 Product 5/Pro; and 2 more"),
        "{matches}"
    );
    assert_eq!(fix, "fix: use its id, or name its product as in \"Product 1/Pro\"");
}

#[test]
fn the_product_chooses_the_plan() {
    let server = with_products(3);
    let home = Home::with(&server);
    for args in [
        &["licenses", "create", "--plan", "Product 2/Pro"][..],
        &["licenses", "create", "--plan", "Pro", "--product", "Product 2"],
        &["licenses", "create", "--plan", "Pro", "--product", "prd_01h455vb4pex5vsknk084sn002"],
        &["licenses", "create", "--plan", "pln_01h455vb4pex5vsknk084sn002"],
    ] {
        let ran = home.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        assert_eq!(planned(&server), "pln_01h455vb4pex5vsknk084sn002", "{args:?}");
    }
    for args in [
        &["plans", "get", "Product 3/Pro", "-q"][..],
        &["plans", "get", "product 3/pro", "-q"],
        &["plans", "get", " Product 3/Pro ", "-q"],
        &["plans", "get", "Pro", "--product", "Product 3", "-q"],
    ] {
        let ran = home.run(args);
        assert_eq!(ran.stdout, "pln_01h455vb4pex5vsknk084sn003\n", "{args:?}: {}", ran.stderr);
    }
    let args = ["plans", "update", "Pro", "--product", "Product 3", "--max-seats", "9", "-n"];
    assert!(
        home.run(&args).stdout.contains("PATCH /api/v1/admin/plans/pln_01h455vb4pex5vsknk084sn003")
    );
    let wrong = ["--plan", "pln_01h455vb4pex5vsknk084sn002", "--product", "Product 1"];
    let ran = home.run(&[&["licenses", "create"][..], &wrong].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    let import =
        ["licenses", "assign", "--plan", "Pro", "--product", "Product 2", "--from", "-", "-n"];
    let ran = home.run_with_input(&import, "userId\nalice\n");
    assert!(ran.stdout.contains("pln_01h455vb4pex5vsknk084sn002"), "{}", ran.stderr);
}

/// The name of two records names none of them.
#[test]
fn a_second_record_of_a_name_is_refused() {
    let server = service();
    let home = Home::with(&server);
    let ran = home.run(&["products", "create", "--name", "Acme Studio"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (6, ""));
    insta::assert_snapshot!(ran.stderr, @"
    error: A product named Acme Studio already exists.
      It is prd_01h455vb4pex5vsknk084sn02q.
    fix: use it with --if-not-exists, choose another --name, or add --allow-duplicate
    ");
    let plan = ["plans", "create", "--product", "Acme Studio", "--name", "Pro annual"];
    assert_eq!(home.run(&plan).code, 6);
    assert!(server.received().iter().all(|request| request.method == "GET"));
    assert_eq!(home.run(&[&plan[..], &["--allow-duplicate"]].concat()).code, 0);
    let product = ["products", "create", "--name", "Acme Studio", "--allow-duplicate"];
    assert_eq!(home.run(&product).code, 0);
    assert_eq!(server.received().last().unwrap().body, json!({ "name": "Acme Studio" }));
}

/// Renaming would otherwise make the duplicates that creating refuses.
#[test]
fn a_name_that_another_record_has_is_refused_for_a_change_too() {
    let server = with_products(2);
    let home = Home::with(&server);
    let second = "prd_01h455vb4pex5vsknk084sn002";
    let rename = ["products", "update", second, "--name", "Product 1"];
    let ran = home.run(&rename);
    assert_eq!((ran.code, ran.stdout.as_str()), (6, ""));
    insta::assert_snapshot!(ran.stderr, @"
    error: A product named Product 1 already exists.
      It is prd_01h455vb4pex5vsknk084sn001.
    fix: choose another --name, or add --allow-duplicate
    ");
    // Its own name, and that of a plan of another product, are free.
    let plan = "pln_01h455vb4pex5vsknk084sn002";
    assert_eq!(home.run(&["products", "update", second, "--name", "Product 2"]).code, 0);
    assert_eq!(home.run(&["plans", "update", plan, "--name", "Pro"]).code, 0);
    assert_eq!(home.run(&[&rename[..], &["--allow-duplicate"]].concat()).code, 0);
    let sent = |line: &String| line.starts_with("PATCH");
    assert_eq!(server.lines().into_iter().filter(sent).count(), 3);
    let server = FakeServer::answering(|request| match request.line().as_str() {
        line if line.starts_with("GET /api/v1/admin/plans?") => {
            let mut other = crate::support::plan("Team");
            other["id"] = "pln_01h455vb4pex5vsknk084sn0zz".into();
            Reply::list(&[crate::support::plan("Pro"), other])
        }
        _ => answer(request),
    });
    let ran = Home::with(&server).run(&["plans", "update", "Team", "--name", "Pro"]);
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    assert!(ran.stderr.contains("A plan named Pro already exists."), "{}", ran.stderr);
}

#[test]
fn a_second_key_of_a_name_is_noted() {
    let server = service();
    let home = Home::with(&server);
    let ran = home.run(&["keys", "create", "--name", "ci", "--role", "read"]);
    assert_eq!((ran.code, ran.stdout.trim()), (0, OTHER_KEY));
    let noted = "note: key_01h455vb4pex5vsknk084sn02q has the same name; ";
    assert!(ran.stderr.starts_with(noted), "{}", ran.stderr);
    assert_eq!(home.run(&["keys", "create", "--name", "x", "--role", "read"]).stderr, "");
}
