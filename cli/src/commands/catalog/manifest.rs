//! The catalog file of products and plans: its fields, and how it is read and written.

use std::collections::HashSet;

use common::{
    ExpiresFrom, ExpiresInDays, Features, GraceDays, Line, MaxLeaseSeconds, MaxSeats, Name,
    SeatIdleMinutes,
};
use serde::{Deserialize, Deserializer, Serialize};

use super::Catalog;
use crate::client::in_plain_words;
use crate::commands::prelude::*;
use crate::noun::Edit;

/// The only version there is.
const MANIFEST_VERSION: u32 = 1;

/// The whole file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with version and products")]
pub struct Manifest {
    version: u32,
    pub products: Vec<WantedProduct>,
}

/// A product of the file. A field that the file leaves out stays as it is; null clears it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a product with name and plans")]
pub struct WantedProduct {
    pub name: Name,
    #[serde(default, deserialize_with = "edit", skip_serializing_if = "Option::is_none")]
    pub description: Option<Edit<Line>>,
    #[serde(default)]
    pub plans: Vec<WantedPlan>,
}

/// A plan of the file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[serde(expecting = "a plan with name, maxSeats and so on")]
pub struct WantedPlan {
    pub name: Name,
    #[serde(default, deserialize_with = "edit", skip_serializing_if = "Option::is_none")]
    pub description: Option<Edit<Line>>,
    #[serde(default, deserialize_with = "edit", skip_serializing_if = "Option::is_none")]
    pub max_seats: Option<Edit<MaxSeats>>,
    #[serde(default, deserialize_with = "edit", skip_serializing_if = "Option::is_none")]
    pub expires_in_days: Option<Edit<ExpiresInDays>>,
    #[serde(default, deserialize_with = "edit", skip_serializing_if = "Option::is_none")]
    pub features: Option<Edit<Features>>,
    #[serde(default, deserialize_with = "edit", skip_serializing_if = "Option::is_none")]
    pub seat_idle_minutes: Option<Edit<SeatIdleMinutes>>,
    #[serde(default, deserialize_with = "edit", skip_serializing_if = "Option::is_none")]
    pub grace_days: Option<Edit<GraceDays>>,
    #[serde(default, deserialize_with = "edit", skip_serializing_if = "Option::is_none")]
    pub expires_from: Option<Edit<ExpiresFrom>>,
    #[serde(default, deserialize_with = "edit", skip_serializing_if = "Option::is_none")]
    pub max_lease_seconds: Option<Edit<MaxLeaseSeconds>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<bool>,
}

/// Reads a field that is there: null clears it.
fn edit<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> std::result::Result<Option<Edit<T>>, D::Error> {
    let value = Option::<T>::deserialize(deserializer)?;
    Ok(Some(value.map_or(Edit::Clear, Edit::Set)))
}

impl Manifest {
    /// Reads a file, or stdin for `-`. JSON is YAML too.
    pub async fn read(ctx: &Context, file: &str) -> Result<Self> {
        Self::parse(&ctx.io.read_text(file).await?).map_err(|why| {
            Error::usage(format!("{file} is not a valid catalog."))
                .because(why)
                .fix("licctl apply --help")
        })
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        // Editors on Windows write a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let manifest: Self =
            yaml_serde::from_str(text).map_err(|error| in_plain_words(&error.to_string()))?;
        if manifest.version != MANIFEST_VERSION {
            return Err(format!("version {} is not supported; use 1", manifest.version));
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

    /// The file that describes this catalog as a whole, so that applying it elsewhere makes the
    /// same. Two records of one name are an error, as no file can tell them apart.
    pub fn of(catalog: &Catalog) -> Result<Self> {
        let mut products = Vec::new();
        for product in &catalog.products {
            let same = catalog.products.iter().filter(|other| other.name == product.name);
            only("product", product.name.as_str(), same)?;
            let own = || catalog.plans.iter().filter(|plan| plan.product_id == product.id);
            let mut plans = Vec::new();
            for plan in own() {
                let name = plan.name.as_str();
                only("plan", name, own().filter(|other| other.name == plan.name))?;
                plans.push(WantedPlan {
                    name: plan.name.clone(),
                    description: whole(plan.description.as_ref()),
                    max_seats: whole(plan.max_seats.as_ref()),
                    expires_in_days: whole(plan.expires_in_days.as_ref()),
                    features: Some(Edit::Set(plan.features.clone())),
                    seat_idle_minutes: whole(plan.terms.seat_idle_minutes.as_ref()),
                    grace_days: whole(plan.terms.grace_days.as_ref()),
                    expires_from: whole(plan.expires_from.as_ref()),
                    max_lease_seconds: whole(plan.terms.max_lease_seconds.as_ref()),
                    trial: plan.trial.then_some(true),
                });
            }
            let (name, description) = (product.name.clone(), product.description.as_ref());
            products.push(WantedProduct { name, description: whole(description), plans });
        }
        Ok(Self { version: MANIFEST_VERSION, products })
    }
}

/// The only record of a name; two records of one name are an error.
pub fn only<'a, T>(
    noun: &str,
    name: &str,
    mut records: impl Iterator<Item = &'a T>,
) -> Result<Option<&'a T>> {
    let first = records.next();
    if records.next().is_some() {
        let message =
            format!("Several {noun}s are named {name}, so a file cannot refer to one of them.");
        return Err(Error::new(Exit::NotFound, "ambiguous", message)
            .fix(format!("rename them with licctl {noun}s update ID --name NAME")));
    }
    Ok(first)
}

fn whole<T: Clone>(value: Option<&T>) -> Option<Edit<T>> {
    Some(value.map_or(Edit::Clear, |value| Edit::Set(value.clone())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        assert_eq!(Manifest::parse(&format!("\u{feff}{text}")).unwrap(), manifest);
        let cleared = Manifest::parse(&text.replace("maxSeats: 5", "maxSeats: null")).unwrap();
        assert_eq!(cleared.products[0].plans[0].max_seats, Some(Edit::Clear));
    }

    #[test]
    fn an_invalid_file_is_an_error() {
        for (from, to, why) in [
            ("maxSeats", "seats", "unknown field `seats`"),
            ("maxSeats: 5", "maxSeats: 0", "whole number from 1"),
            ("version: 1", "version: 2", "version 2 is not supported"),
            ("name: Free", "name: Pro annual", "appears twice"),
            ("[export, sso]", "[sso, sso]", "features: must be an array of at most 100 different"),
            ("version: 1", "", "missing field `version`"),
            ("- name: Free", "- Free", "plans[1]: must be a plan with name"),
            (
                "maxSeats: 5",
                "maxSeats: [5]",
                "maxSeats: must be a whole number from 1 to 1000000, found an array",
            ),
            ("version: 1", "version: [1]", "version: must be a whole number, found an array"),
            (GOOD, "version: 1\nproducts: {}", "products: must be an array, found an object"),
            (GOOD, "<html>", "must be an object with version and products"),
        ] {
            let error = Manifest::parse(&GOOD.replace(from, to)).unwrap_err();
            assert!(error.contains(why), "{to}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_manifest_or_an_error(
            text in "\\PC*|(version: 1\n)?((products|plans|name|- name|features| ){1,2}: ?[-a-z0-9{}&*!\"\n ]{0,9}\n){0,8}",
        ) {
            if let Err(why) = Manifest::parse(&text) {
                prop_assert!(!why.is_empty());
            }
        }
    }
}
