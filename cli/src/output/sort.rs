//! `--sort`: the order of a list by one of its columns, in every format.

use std::cmp::Ordering;

use serde::Serialize;
use serde_json::Value;

use super::columns::ColumnNames;
use super::csv::Sheet;
use super::to_value;
use crate::error::{Error, Result};

/// A column, and the direction.
pub struct SortOrder {
    column: Sheet,
    is_descending: bool,
}

impl SortOrder {
    /// The order by a column of CSV. A minus before its name puts the largest value first.
    pub fn new(name: &ColumnNames, fields: &str) -> Result<Self> {
        let column = Sheet::new(&[fields], Some(name), false)?;
        if column.width() != 1 {
            return Err(Error::usage("--sort takes one column."));
        }
        Ok(Self { column, is_descending: name.begins_with_minus() })
    }

    pub fn key(&self, record: &impl Serialize) -> Result<Value> {
        Ok(self.column.first(&to_value(record)?))
    }

    /// Compares numbers by size and texts regardless of case. Records without a value come last.
    pub fn compare(&self, a: &Value, b: &Value) -> Ordering {
        let order = match (a, b) {
            (Value::Null, _) | (_, Value::Null) => return a.is_null().cmp(&b.is_null()),
            (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
            _ => Some(folded(a).cmp(&folded(b))),
        };
        let order = order.unwrap_or(Ordering::Equal);
        if self.is_descending { order.reverse() } else { order }
    }
}

fn folded(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_lowercase)
}
