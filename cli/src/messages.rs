//! What a run says on stderr beside its data. Text is said at once. A run whose errors are JSON says
//! everything at its end, in one object, so that stderr as a whole is JSON.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::error::{Destination, Error};
use crate::io::Io;

pub struct Messages {
    io: Rc<Io>,
    json: bool,
    notes: RefCell<Vec<String>>,
    failure: RefCell<Option<Value>>,
}

impl Messages {
    pub fn new(io: Rc<Io>, json: bool) -> Self {
        Self { io, json, notes: RefCell::default(), failure: RefCell::default() }
    }

    /// A remark for the person. On a terminal it cannot wait.
    pub fn note(&self, text: &str) {
        if self.json && !self.io.terminals.stderr {
            self.notes.borrow_mut().push(text.to_owned());
        } else {
            self.io.say(&format!("note: {text}\n"));
        }
    }

    /// What failed in a run that did the rest: `lines` as text, or `json` as the object at the end.
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
