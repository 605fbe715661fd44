//! The catalog file of products and plans: its fields, and how it is read and written.

use std::collections::HashSet;
use std::fs;

use common::{ExpiresInDays, Features, Line, MaxSeats, Name};
use serde::{Deserialize, Serialize};

use super::Catalog;
use crate::context::Context;
use crate::error::{Error, Result};

/// The only version there is.
const MANIFEST_VERSION: u32 = 1;

/// The whole file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    version: u32,
    pub products: Vec<WantedProduct>,
}

/// A product of the file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedProduct {
    pub name: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Line>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<WantedPlan>,
}

/// A plan of the file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WantedPlan {
    pub name: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Line>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_seats: Option<MaxSeats>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_days: Option<ExpiresInDays>,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub features: Features,
}

fn is_empty(features: &Features) -> bool {
    features.is_empty()
}

impl Manifest {
    /// Reads a file, or stdin for `-`. JSON is YAML too.
    pub async fn read(ctx: &Context, file: &str) -> Result<Self> {
        let text = match file {
            "-" => ctx.io.read_stdin().await?,
            path => fs::read_to_string(path).map_err(|error| {
                Error::usage(format!("{path} cannot be read.")).because(error.to_string())
            })?,
        };
        Self::parse(&text).map_err(|why| {
            Error::usage(format!("{file} is not a valid catalog."))
                .because(why)
                .fix("licctl apply --help")
        })
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        let manifest: Self = yaml_serde::from_str(text).map_err(|error| error.to_string())?;
        if manifest.version != MANIFEST_VERSION {
            return Err(format!("version {} is not supported, only 1", manifest.version));
        }
        let mut products = HashSet::new();
        for product in &manifest.products {
            if !products.insert(&product.name) {
                return Err(format!("product {} appears twice", product.name));
            }
            let mut plans = HashSet::new();
            if let Some(twice) = product.plans.iter().find(|plan| !plans.insert(&plan.name)) {
                return Err(format!("plan {} of {} appears twice", twice.name, product.name));
            }
        }
        Ok(manifest)
    }

    /// The file that describes this catalog.
    pub fn of(catalog: &Catalog) -> Self {
        let products = catalog.products.iter().map(|product| {
            let own = catalog.plans.iter().filter(|plan| plan.product_id == product.id);
            let plans = own.map(|plan| WantedPlan {
                name: plan.name.clone(),
                description: plan.description.clone(),
                max_seats: plan.max_seats,
                expires_in_days: plan.expires_in_days,
                features: plan.features.clone(),
            });
            WantedProduct {
                name: product.name.clone(),
                description: product.description.clone(),
                plans: plans.collect(),
            }
        });
        Self { version: MANIFEST_VERSION, products: products.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "
        version: 1
        products:
          - name: Acme Studio
            plans:
              - { name: Pro annual, maxSeats: 5, expiresInDays: 365, features: [export, sso] }
              - name: Free
    ";

    #[test]
    fn a_file_reads_back_as_it_is_written() {
        let manifest = Manifest::parse(GOOD).unwrap();
        assert_eq!(manifest.products[0].plans[1].max_seats, None);
        let text = yaml_serde::to_string(&manifest).unwrap();
        assert_eq!(Manifest::parse(&text).unwrap(), manifest);
        assert!(!text.contains("null"), "{text}");
    }

    #[test]
    fn an_invalid_file_is_an_error() {
        for (from, to, why) in [
            ("maxSeats", "seats", "unknown field `seats`"),
            ("maxSeats: 5", "maxSeats: 0", "whole number from 1"),
            ("version: 1", "version: 2", "version 2 is not supported"),
            ("name: Free", "name: Pro annual", "appears twice"),
            ("version: 1", "", "missing field `version`"),
        ] {
            let error = Manifest::parse(&GOOD.replace(from, to)).unwrap_err();
            assert!(error.contains(why), "{to}: {error}");
        }
    }
}
