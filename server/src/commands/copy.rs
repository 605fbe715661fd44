//! `licd copy`: copies a whole database into an empty one.
//!
//! The library does the work; this command shows the progress, as a bar on a terminal and as lines
//! elsewhere.

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use licd::copy::{self, Step, TableDigest};
use licd::db::{DatabaseUrl, Db, inspect};
use licd::secrets::SecretKeys;

use super::secret_key::needed_keys;
use super::{ExposedFiles, UrlParser, print, say};

#[derive(clap::Args)]
pub struct Copy {
    /// The database to copy. Stop its licd first, since later writes are not copied.
    ///
    /// Flags are visible to all users of the machine. Keep passwords in the environment, here or in
    /// PGPASSWORD, or in PostgreSQL's password file (PGPASSFILE, ~/.pgpass).
    #[arg(long, env = "LICD_COPY_FROM", value_name = "URL", value_parser = UrlParser,
        hide_env_values = true)]
    from: DatabaseUrl,
    /// The database to copy into, which must be empty. A missing SQLite file is created.
    #[arg(long, env = "LICD_COPY_TO", value_name = "URL", value_parser = UrlParser,
        hide_env_values = true)]
    to: DatabaseUrl,
    #[command(flatten)]
    exposed_files: ExposedFiles,
}

impl Copy {
    pub async fn run(self) -> anyhow::Result<()> {
        self.exposed_files.check(&self.from)?;
        self.exposed_files.check(&self.to)?;
        let from = Db::open_as_it_is(&self.from).await.with_context(|| self.from.to_string())?;
        let to = Db::open(&self.to).await.with_context(|| self.to.to_string())?;
        let mut meter = Meter::new(copy::count(&from).await.ok());
        let copied = copy::copy(&from, &to, |step, rows| meter.note(step, rows)).await;
        meter.bar.finish_and_clear();
        let digests =
            copied.with_context(|| format!("cannot copy {} to {}", self.from, self.to))?;
        for digest in &digests {
            print(line(digest))?;
        }
        say(format_args!("Copied {} to {}, and verified every row.", self.from, self.to));
        let sealed = inspect::sealed(&self.from).await.with_context(|| self.from.to_string())?;
        let needed = needed_keys(&sealed);
        if !needed.is_empty() {
            let needed = needed.join(", ");
            say(format_args!(
                "Secrets in it need the secret key {needed}: {}.",
                self.secret_keys()
            ));
        }
        from.close().await;
        to.close().await;
        Ok(())
    }

    /// Names the place of the secret keys of the copied database.
    fn secret_keys(&self) -> String {
        let setting = "LICD_SECRET_KEY_FILE";
        let DatabaseUrl::Sqlite(path) = &self.from else {
            return format!("give the new licd the same file with {setting}");
        };
        let file = SecretKeys::path_for_database(path);
        let has = match SecretKeys::for_database(path).map(|keys| keys.ids()) {
            Ok(ids) if !ids.is_empty() => {
                let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
                format!("which has {}", ids.join(", "))
            }
            _ => "which has none".to_owned(),
        };
        let file = file.display();
        format!("give the new licd the right file with {setting}, such as {file}, {has}")
    }
}

fn line(digest: &TableDigest) -> String {
    let TableDigest { table, rows, seats, .. } = digest;
    let rows = format!("{table:<16} {rows:>10}");
    if *table == "licenses" { format!("{rows}  with {seats} seats in use") } else { rows }
}

/// The progress: a bar on a terminal, a line for each table elsewhere.
struct Meter {
    bar: ProgressBar,
    step: Option<Step>,
}

impl Meter {
    /// Each row counts twice: once copied, once verified.
    fn new(rows: Option<u64>) -> Self {
        let bar =
            ProgressBar::with_draw_target(rows.map(|rows| rows * 2), ProgressDrawTarget::stderr());
        let style = "{msg:<24} {wide_bar} {percent:>3}%  {eta} left";
        // Without the template the bar only looks plainer.
        bar.set_style(ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar()));
        Self { bar, step: None }
    }

    fn note(&mut self, step: Step, rows: u64) {
        if self.step != Some(step) {
            self.step = Some(step);
            let doing = match step {
                Step::Copying(table) => format!("Copying {table}"),
                Step::Verifying(table) => format!("Verifying {table}"),
            };
            if self.bar.is_hidden() {
                say(&doing);
            }
            self.bar.set_message(doing);
        }
        self.bar.inc(rows);
    }
}
