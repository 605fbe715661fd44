//! licctl from outside: the real program against a fake server with the answers of the test.

#![cfg(test)]

mod applying;
mod bulk;
mod canary;
mod catalog;
mod certificates;
mod closed_pipes;
mod commands;
mod completion;
mod doctor;
mod events;
mod explaining;
mod features;
mod forms;
mod help;
mod json_errors;
mod keyed_licenses;
mod leases;
mod lists;
#[cfg(unix)]
mod live;
mod login;
mod lost_answers;
mod merging;
mod misbehaviour;
mod names;
mod new_users;
mod once;
mod patience;
mod profiles;
mod raw;
mod reading;
mod refusals;
mod renewing;
mod rolling;
mod states;
mod stats;
mod stdin;
mod subjects;
mod support;
#[cfg(unix)]
mod terminal;
mod terms;
mod writing;
