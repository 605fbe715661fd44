//! What all pages have around them: where one is, who one is, and what was just done.

use std::sync::{Arc, OnceLock};

use common::{Mode, Name, Role};
use form_urlencoded::byte_serialize;

use super::assets::{ASSETS, Assets};

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
    pub notice: Option<Notice>,
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

    pub fn assets(&self) -> &'static Assets {
        &ASSETS
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

            /// The notice as a sentence.
            pub fn text(self) -> &'static str {
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
    LicenseCreated = "license-created", "The license is created.";
    LicenseActivated = "license-activated",
        "The license is active. Its users are valid from now on, unless it has expired.";
    LicenseSuspended = "license-suspended",
        "The license is suspended. Validations of its users are refused from now on.";
    LicenseRevoked = "license-revoked",
        "The license is revoked. Validations of its users are refused from now on.";
    LicenseExpired = "license-expired",
        "The license is set to expired. Validations of its users are refused from now on.";
    LimitChanged = "limit-changed", "The limit of seats is changed. Nobody has lost a seat.";
    ExpiryChanged = "expiry-changed", "The expiry is changed.";
    FeaturesChanged = "features-changed",
        "The features are changed. The next validation of each user shows them.";
    Assigned = "assigned", "The license is assigned. The next validation takes a seat.";
    Unassigned = "unassigned", "The license is taken from the user, and the seat is free.";
    UserCreated = "user-created", "The user is there.";
    UserUpdated = "user-updated", "The user is changed.";
    UserDeleted = "user-deleted", "The user is deleted, and all seats of the user are free.";
    KeyShownOnce = "key-shown-once",
        "This key was created a moment ago and cannot be shown again. \
         Revoke it and create another if you did not copy it.";
    KeyRevoked = "key-revoked",
        "Key revoked. Requests with it are refused from now on, and its sessions have ended.";
    SessionEnded = "session-ended", "Session ended.";
}
