//! A scrape: the text of `GET /metrics`, taken apart.

use std::collections::{BTreeMap, BTreeSet};

/// Output of a listener for metrics at one moment.
pub struct Scrape {
    pub text: String,
    samples: Vec<Sample>,
}

/// One line: a series and its value.
#[derive(Debug)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Scrape {
    /// Of a listener at this address.
    pub async fn of(base: &str) -> Self {
        let answer = reqwest::get(format!("{base}/metrics")).await.unwrap();
        assert_eq!(answer.status(), 200);
        let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
        assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
        Self::read(answer.text().await.unwrap())
    }

    fn read(text: String) -> Self {
        assert!(text.ends_with("# EOF\n"), "{text}");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let samples: Vec<Sample> = lines.map(Sample::read).collect();
        assert!(samples.len() > 50, "{text}");
        Self { text, samples }
    }

    /// Returns the number of series.
    pub fn series(&self) -> usize {
        self.samples.len()
    }

    /// Returns the one value whose series has these labels, among others.
    #[track_caller]
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut found = self.with(name, labels);
        let value = found.next()?.value;
        assert!(found.next().is_none(), "several {name} have {labels:?}");
        Some(value)
    }

    /// Whether a series of this name has these labels.
    pub fn has(&self, name: &str, labels: &[(&str, &str)]) -> bool {
        self.with(name, labels).next().is_some()
    }

    fn with(&self, name: &str, labels: &[(&str, &str)]) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| {
            let mut labels = labels.iter();
            sample.name == name
                && labels
                    .all(|(label, value)| sample.labels.get(*label).is_some_and(|own| own == value))
        })
    }

    /// Returns the values of a metric that has only this label.
    pub fn by_label(&self, name: &str, label: &str) -> BTreeMap<&str, f64> {
        let samples = self.samples.iter().filter(|sample| sample.name == name);
        samples.map(|sample| (&*sample.labels[label], sample.value)).collect()
    }

    /// The labels of each name that samples have.
    pub fn names(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut names = BTreeMap::<&str, BTreeSet<&str>>::new();
        for sample in &self.samples {
            let labels = sample.labels.keys().map(String::as_str);
            names.entry(&sample.name).or_default().extend(labels);
        }
        names
    }

    /// The metrics as a reader knows them: a counter with its `_total`, a histogram by its own name.
    pub fn metrics(&self) -> BTreeSet<String> {
        let types =
            self.text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        types
            .map(|(name, kind)| match kind {
                "counter" => format!("{name}_total"),
                _ => name.to_owned(),
            })
            .collect()
    }
}

impl Sample {
    fn read(line: &str) -> Self {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').unwrap()),
            None => (series, ""),
        };
        // No value of a label has a comma or a quotation mark.
        let labels = labels.split(',').filter(|label| !label.is_empty()).map(|label| {
            let (label, value) = label.split_once('=').unwrap();
            (label.to_owned(), value.trim_matches('"').to_owned())
        });
        let value = value.parse().unwrap_or_else(|error| panic!("{error}: {line}"));
        Self { name: name.to_owned(), labels: labels.collect(), value }
    }
}
