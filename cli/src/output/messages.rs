//! The messages on stderr. Text is printed immediately. A run whose errors are JSON prints
//! everything at its end, as one object, so that all of stderr is JSON.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::error::{Destination, Error};
use crate::terminal::Io;

pub struct Messages {
    io: Rc<Io>,
    /// Whether stderr is JSON for a program.
    pub json: bool,
    notes: RefCell<Vec<String>>,
    failure: RefCell<Option<Value>>,
}

impl Messages {
    pub fn new(io: Rc<Io>, json: bool) -> Self {
        Self { io, json, notes: RefCell::default(), failure: RefCell::default() }
    }

    /// Prints a note for the person. On a terminal it is printed immediately.
    pub fn note(&self, text: &str) {
        if self.json && !self.io.terminals.stderr {
            self.notes.borrow_mut().push(text.to_owned());
        } else {
            self.io.say(&format!("note: {text}\n"));
        }
    }

    /// Reports the failures of a run that succeeded in part: `lines` as text, or `json` at the end.
    pub fn fail(&self, lines: &str, json: Value) {
        if self.json {
            self.failure.replace(Some(json));
        } else {
            self.io.say(lines);
        }
    }

    /// Ends the run, with the error that ended it.
    pub fn end(&self, error: Option<&Error>, place: Option<&Destination>) {
        if !self.json {
            error.iter().for_each(|error| self.io.say(&error.text(place)));
            return;
        }
        let failure = error.map(Error::json).or(self.failure.take());
        let notes = self.notes.take();
        let mut object = match failure {
            Some(Value::Object(object)) => object,
            _ => Map::new(),
        };
        if !notes.is_empty() {
            object.insert("notes".to_owned(), notes.into());
        }
        if !object.is_empty() {
            self.io.say(&format!("{}\n", Value::Object(object)));
        }
    }
}
