//! `licctl licenses create --with-key` and `--keys-from`: licenses that users claim with a key. A
//! new key is shown once, so it is printed before the next license is created, and the first one
//! that cannot be printed is the last one that is created.

use std::cell::{Cell, OnceCell};
use std::collections::HashSet;

use common::{CreateLicense, CreateLicenseKey, CreatedLicenseKey, KeyText, Terms};

use super::with_name;
use crate::client::{License, new_idempotency_key};
use crate::commands::prelude::*;
use crate::noun::Printer;
use crate::output::{Format, json_text};
use crate::terminal::unwritten;

/// The member with the key of a new license.
const KEY: &str = "licenseKey";
const COLUMNS: [Column; 2] = [Column::whole("ID", 30), Column::new("LICENSE KEY", 0)];

/// The keys of a file, one in a line. Fails before anything is sent if one is no key, or twice
/// there.
pub async fn read(ctx: &Context, file: &str) -> Result<Vec<KeyText>> {
    let text = ctx.io.read_text(file).await?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let keys: Vec<_> = lines.map(|(number, line)| (number, line.parse::<KeyText>())).collect();
    let mut forms = HashSet::new();
    for (number, key) in &keys {
        let why = match key {
            Err(error) => format!("the key {error}."),
            Ok(key) if !forms.insert(key.form()) => "this key is in the file twice.".to_owned(),
            Ok(_) => continue,
        };
        return Err(Error::usage(format!("Line {number}: {why}")));
    }
    Ok(keys.into_iter().filter_map(|(_, key)| key.ok()).collect())
}

/// Creates licenses one after the other, each with a key, and prints each before the next.
pub struct KeyedLicenses<'a> {
    ctx: &'a Context,
    body: &'a CreateLicense,
    allow_short: Option<bool>,
    printer: OnceCell<Printer>,
    printed: Cell<usize>,
}

impl<'a> KeyedLicenses<'a> {
    pub fn new(
        ctx: &'a Context,
        body: &'a CreateLicense,
        allow_short: bool,
        count: usize,
    ) -> Result<Self> {
        if ctx.output.jq.is_some() && count > 1 {
            let message = "--jq reads a whole array, but each key is printed before the next one.";
            return Err(Error::usage(message).fix("use -o jsonl, or pipe -o json to jq"));
        }
        let (printer, printed) = (OnceCell::new(), Cell::new(0));
        Ok(Self { ctx, body, allow_short: allow_short.then_some(true), printer, printed })
    }

    /// Creates a license with this key, or with a new one, and prints both. None on a dry run.
    pub async fn create(&self, key: Option<KeyText>) -> Result<Option<ApiRecord<License>>> {
        if !self.ctx.io.has_reader() {
            return Err(unwritten("The reader of the keys has gone."));
        }
        let client = self.ctx.client().await?;
        let made = client.licenses().create_once(self.body, &new_idempotency_key()).await?;
        let id =
            made.as_ref().map_or_else(|| "NEW-LICENSE".to_owned(), |made| made.data.id.to_string());
        let is_imported = key.is_some();
        let body =
            CreateLicenseKey { key, allow_short: self.allow_short, ..CreateLicenseKey::default() };
        let created = match client.licenses().create_key(&id, &body).await {
            Err(error) if is_imported && error.had_no_effect() => {
                // Users cannot claim the license without its key.
                client.licenses().delete(&id).await?;
                return Err(error);
            }
            created => created.map_err(|error| {
                let fix = format!("licctl licenses keys create {id}");
                error.because(format!("License {id} was created.")).fix(fix)
            })?,
        };
        let Some((made, created)) = made.zip(created) else { return Ok(None) };
        let made = with_name(
            super::with_state(self.ctx, made.data, &Terms::default()),
            self.body.name.as_ref(),
            self.body.metadata.as_ref(),
        );
        let made = made.with_member("id", KEY, created.data.key.expose());
        self.print(&made, &created.data)?;
        Ok(Some(made))
    }

    fn print(
        &self,
        made: &ApiRecord<License>,
        created: &ApiRecord<CreatedLicenseKey>,
    ) -> Result<()> {
        let (ctx, text) = (self.ctx, created.key.expose());
        let printed = if self.is_array() {
            let array = json_text(&serde_json::to_value([made]).map_err(Error::internal)?);
            let record = array.trim_start_matches("[\n").trim_end_matches("\n]\n");
            let before = if self.printed.get() == 0 { "[\n" } else { ",\n" };
            ctx.io.records(&format!("{before}{record}"))
        } else if ctx.output.jq.is_some() {
            View::new([made], vec![text.to_owned()])?.show(&ctx.io, &ctx.output)
        } else {
            let row = vec![TextCell::of(made.id), TextCell::text(text)];
            self.printer().and_then(|printer| printer.print(ctx, made, text.to_owned(), row))
        };
        let printed = match printed {
            Ok(()) if ctx.io.is_closed() => Err(unwritten("The reader has closed the pipe.")),
            printed => printed,
        };
        self.printed.set(self.printed.get() + 1);
        printed.map_err(|error| {
            let (id, key) = (made.id, created.record.id);
            error
                .because(format!("License {id} was created, and its key was not printed"))
                .fix(format!("licctl licenses keys reissue {key}"))
        })
    }

    /// The printer, which prints the titles when it begins.
    fn printer(&self) -> Result<&Printer> {
        if let Some(printer) = self.printer.get() {
            return Ok(printer);
        }
        let printer = Printer::begin(self.ctx, &COLUMNS, &[ApiRecord::<License>::FIELDS, KEY])?;
        Ok(self.printer.get_or_init(|| printer))
    }

    /// Whether all records are one JSON array, which is printed in parts.
    fn is_array(&self) -> bool {
        self.ctx.output.format == Format::Json && self.ctx.output.jq.is_none()
    }

    /// Ends what was printed.
    pub fn end(&self) -> Result<()> {
        match (self.is_array(), self.printed.get()) {
            (false, _) => Ok(()),
            (true, 0) => self.ctx.io.data("[]\n"),
            (true, _) => self.ctx.io.data("\n]\n"),
        }
    }
}
