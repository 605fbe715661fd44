//! licctl from outside: the real program against a fake server with the answers of the test.

#[cfg(test)]
mod bulk;
#[cfg(test)]
mod canary;
#[cfg(test)]
mod catalog;
#[cfg(test)]
mod certificates;
#[cfg(test)]
mod closed_pipes;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod completion;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod events;
#[cfg(test)]
mod explaining;
#[cfg(test)]
mod features;
#[cfg(test)]
mod forms;
#[cfg(test)]
mod help;
#[cfg(test)]
mod json_errors;
#[cfg(test)]
mod lists;
#[cfg(test)]
#[cfg(unix)]
mod live;
#[cfg(test)]
mod login;
#[cfg(test)]
mod lost_answers;
#[cfg(test)]
mod merging;
#[cfg(test)]
mod misbehaviour;
#[cfg(test)]
mod names;
#[cfg(test)]
mod new_users;
#[cfg(test)]
mod once;
#[cfg(test)]
mod patience;
#[cfg(test)]
mod profiles;
#[cfg(test)]
mod raw;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod renewing;
#[cfg(test)]
mod rolling;
#[cfg(test)]
mod states;
#[cfg(test)]
mod stats;
#[cfg(test)]
mod stdin;
#[cfg(test)]
mod subjects;
#[cfg(test)]
mod support;
#[cfg(test)]
#[cfg(unix)]
mod terminal;
#[cfg(test)]
mod writing;
