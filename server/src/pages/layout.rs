//! What all pages have around them: where one is, who one is, and what was just done.

use std::sync::{Arc, OnceLock};

use common::{LicenseId, Mode, Name, Role};
use form_urlencoded::{Serializer, byte_serialize};

use super::parts::LicenseLink;

/// The frame of a page.
#[derive(Clone)]
pub struct Layout {
    pub tenant: Name,
    pub mode: Mode,
    /// The key of the session.
    pub key: Name,
    pub role: Role,
    /// Whether the session may enter the tenant's other mode.
    pub may_switch: bool,
    /// What was just done.
    pub notice: Option<Done>,
    /// The address of the page.
    pub path: String,
}

/// What is known of the visitor while a page is made, in the request's extensions: an error is then
/// shown within the frame.
#[derive(Clone, Default)]
pub struct Visit(Arc<OnceLock<Layout>>);

impl Visit {
    pub fn learn(&self, layout: Layout) {
        drop(self.0.set(layout));
    }

    pub fn layout(&self) -> Option<Layout> {
        self.0.get().cloned()
    }
}

/// A section of the dashboard, as the navigation shows it.
pub struct Section {
    pub name: &'static str,
    /// Behind the mode.
    pub path: &'static str,
    /// `page` if this is the section's own page, `true` if it is one within it.
    pub current: Option<&'static str>,
}

const SECTIONS: [(&str, &str); 6] = [
    ("Overview", ""),
    ("Licenses", "/licenses"),
    ("Users", "/users"),
    ("Products", "/products"),
    ("Keys", "/keys"),
    ("Events", "/events"),
];

impl Layout {
    /// The address that all pages of this mode begin with.
    pub fn base(&self) -> String {
        base(self.mode)
    }

    pub fn license(&self, id: LicenseId) -> LicenseLink {
        LicenseLink { base: self.base(), id }
    }

    pub fn other_mode(&self) -> Mode {
        match self.mode {
            Mode::Live => Mode::Test,
            Mode::Test => Mode::Live,
        }
    }

    /// The navigation.
    pub fn sections(&self) -> impl Iterator<Item = Section> {
        let within = self.path.strip_prefix(&*self.base()).unwrap_or_default();
        // The pages of plans belong to those of their products.
        let within = within.replacen("/plans/", "/products/", 1);
        SECTIONS.into_iter().map(move |(name, path)| {
            let current = match within.strip_prefix(path) {
                Some("") => Some("page"),
                Some(rest) if rest.starts_with('/') && !path.is_empty() => Some("true"),
                _ => None,
            };
            Section { name, path, current }
        })
    }

    /// Whether the session may change anything.
    pub fn may_act(&self) -> bool {
        self.role == Role::Admin
    }

    pub fn is_test(&self) -> bool {
        self.mode == Mode::Test
    }

    pub fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

/// The address that all pages of a mode begin with.
pub fn base(mode: Mode) -> String {
    format!("/dashboard/{mode}")
}

/// The address of the page to sign in, which goes on to `next` when it is done, and may say that a
/// form was lost.
pub fn sign_in(next: &str, is_lost: bool) -> String {
    let next: String = byte_serialize(next.as_bytes()).collect();
    let lost = if is_lost { "&lost=yes" } else { "" };
    format!("/dashboard/sign-in?next={next}{lost}")
}

macro_rules! notices {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $text:literal;)*) => {
        /// What was just done, as the address of the page after it says.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Notice { $($name),* }

        impl Notice {
            /// The notice of this word in an address.
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$name),)*
                    _ => None,
                }
            }

            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// The notice as a sentence. `{from}` and `{to}` stand for the values before and after.
            fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

notices! {
    ProductCreated = "product-created", "Product created. Next: add a plan.";
    ProductUpdated = "product-updated", "Product saved.";
    PlanCreated = "plan-created", "Plan created. Next: create a license.";
    PlanUpdated = "plan-updated",
        "Plan saved. Licenses that were created from it before keep their terms.";
    LicenseCreated = "license-created", "License created.";
    LicenseCreatedFor = "license-created-for", "License created and assigned.";
    LicenseActivated = "license-activated", "License activated. Its users are valid from now on, while seats are free.";
    LicenseActivatedLate = "license-activated-late",
        "License activated, but it ended on {to}: its users are refused until you renew it.";
    LicenseSuspended = "license-suspended",
        "License suspended. Its users are refused from now on.";
    LicenseRevoked = "license-revoked", "License revoked. Its users are refused from now on.";
    LicenseExpired = "license-expired",
        "License set to expired. Its users are refused from now on.";
    LimitChanged = "limit-changed", "Seat limit changed from {from} to {to}.";
    LimitBelowUsed = "limit-below-used",
        "Seat limit changed from {from} to {to}. More seats are taken: nobody has lost one, and \
         nobody gets one until enough of them are freed.";
    ExpiryChanged = "expiry-changed", "Expiry changed from {from} to {to}.";
    ExpiryPassed = "expiry-passed",
        "Expiry changed from {from} to {to}. That has passed: the users of the license are \
         refused from now on.";
    FeaturesChanged = "features-changed",
        "Features changed. The next validation of each user returns them.";
    Assigned = "assigned", "License assigned. The first validation takes a seat.";
    AssignedFull = "assigned-full",
        "License assigned, but all seats are taken ({to}): the user is refused until one is free.";
    AssignedInvalid = "assigned-invalid",
        "License assigned, but it is {to}: its users are refused.";
    AssignedBefore = "assigned-before",
        "The license was assigned to this user already. Nothing was changed.";
    Unassigned = "unassigned", "License unassigned. The user held no seat.";
    SeatFreed = "seat-freed", "License unassigned, and the seat of the user freed.";
    UnassignedBefore = "unassigned-before",
        "The license was not assigned to this user any more. Nothing was changed.";
    UserCreated = "user-created", "User created.";
    UserUpdated = "user-updated", "User saved.";
    UserDeleted = "user-deleted", "User deleted.";
    ChangedMeanwhile = "changed-meanwhile",
        "Nothing was changed: somebody changed the record meanwhile. This is what holds now.";
    Unchanged = "unchanged", "This was stored already. Nothing was changed.";
    KeyShownOnce = "key-shown-once",
        "This key was created a moment ago and cannot be shown again. \
         Revoke it and create another if you did not copy it.";
    KeyRevoked = "key-revoked",
        "Key revoked. Requests with it are refused from now on, and its sessions have ended.";
    SessionEnded = "session-ended", "Session ended.";
}

/// A notice with what it says of the values before and after.
#[derive(Clone, Debug)]
pub struct Done {
    notice: Notice,
    from: String,
    to: String,
}

impl From<Notice> for Done {
    fn from(notice: Notice) -> Self {
        Self { notice, from: String::new(), to: String::new() }
    }
}

impl Notice {
    pub fn with(self, from: impl Into<String>, to: impl Into<String>) -> Done {
        Done { notice: self, from: from.into(), to: to.into() }
    }
}

impl Done {
    /// The notice in the query of an address, if there is one. Anybody can make up an address, so a
    /// value is a few plain characters and never a sentence.
    pub fn parse(query: &str) -> Option<Self> {
        const LONGEST: usize = 24;
        let value = |wanted: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            pairs.find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
        };
        let is_plain = |text: &String| {
            text.len() <= LONGEST
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -".contains(&byte))
        };
        let [from, to] = ["from", "to"].map(|name| value(name).filter(is_plain));
        let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
        let notice = Notice::parse(&value("notice")?)?;
        let lacks = |name, value: &str| value.is_empty() && notice.text().contains(name);
        (!lacks("{from}", &from) && !lacks("{to}", &to)).then_some(Self { notice, from, to })
    }

    /// The query of an address that shows the notice.
    pub fn query(&self) -> String {
        let mut query = Serializer::new(String::new());
        query.append_pair("notice", self.notice.word());
        for (name, value) in [("from", &self.from), ("to", &self.to)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        query.finish()
    }

    /// Whether it is more than a success.
    pub fn warns(&self) -> bool {
        matches!(
            self.notice,
            Notice::LicenseActivatedLate
                | Notice::LimitBelowUsed
                | Notice::ExpiryPassed
                | Notice::AssignedFull
                | Notice::AssignedInvalid
                | Notice::ChangedMeanwhile
                | Notice::KeyShownOnce
        )
    }

    pub fn text(&self) -> String {
        self.notice.text().replace("{from}", &self.from).replace("{to}", &self.to)
    }
}
