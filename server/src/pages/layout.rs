//! The frame of every page: the current page, the visitor, and the last action.

use std::sync::{Arc, OnceLock};

use common::{ExplainedLicense, LicenseId, LicenseWithSeats, Mode, Name, Role};
use form_urlencoded::byte_serialize;
use serde::{Deserialize, Serialize};

use super::parts::LicenseLink;
use crate::ops::licenses::Names;

/// The frame of a page.
#[derive(Clone)]
pub struct Layout {
    pub tenant: Name,
    pub mode: Mode,
    /// The key of the session.
    pub key: Name,
    pub role: Role,
    /// Whether the session may open the tenant's other mode.
    pub may_switch: bool,
    /// The last action.
    pub notice: Option<Done>,
    /// The address of the page.
    pub path: String,
}

/// The layout of the page that a request is for, in the request's extensions, so that an error is
/// shown within the frame.
#[derive(Clone, Default)]
pub struct Visit(Arc<OnceLock<Layout>>);

impl Visit {
    pub fn set(&self, layout: Layout) {
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
    /// `page` on the section's own page, `true` on a page within it.
    pub current: Option<&'static str>,
}

const SECTIONS: [(&str, &str); 9] = [
    ("Overview", ""),
    ("Licenses", "/licenses"),
    ("Users", "/users"),
    ("Refusals", "/refusals"),
    ("Numbers", "/numbers"),
    ("Products", "/products"),
    ("Keys", "/keys"),
    ("Webhooks", "/webhooks"),
    ("Events", "/events"),
];

impl Layout {
    pub fn base(&self) -> String {
        base(self.mode)
    }

    pub fn license(&self, id: LicenseId) -> LicenseLink {
        LicenseLink { base: self.base(), id, title: None }
    }

    pub fn named(&self, of: &ExplainedLicense) -> LicenseLink {
        LicenseLink { title: of.name.as_ref().map(Name::to_string), ..self.license(of.license.id) }
    }

    pub fn titled(&self, license: &LicenseWithSeats, names: &Names) -> LicenseLink {
        LicenseLink { base: self.base(), id: license.id, title: names.title_of(license) }
    }

    pub fn other_mode(&self) -> Mode {
        match self.mode {
            Mode::Live => Mode::Test,
            Mode::Test => Mode::Live,
        }
    }

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

/// The address of the sign-in page, which continues to `next` and may say that a form was lost.
pub fn sign_in(next: &str, is_lost: bool) -> String {
    let next: String = byte_serialize(next.as_bytes()).collect();
    let lost = if is_lost { "&lost=yes" } else { "" };
    format!("/dashboard/sign-in?next={next}{lost}")
}

macro_rules! notices {
    ($($name:ident = $text:literal;)*) => {
        /// The last action, as named in the address of the next page.
        #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Notice { $($name),* }

        impl Notice {
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
    ProductCreated = "Product created. Next: add a plan.";
    ProductTwinCreated = "Product created. There is another one of this name already: give one of \
        them another name, so that people can tell them apart.";
    ProductUpdated = "Product saved.";
    ProductDeleted = "Product deleted.";
    ProductKept = "Not deleted: the product has plans.";
    PlanCreated = "Plan created. Next: create a license.";
    PlanUpdated = "Plan saved. Existing licenses keep their terms.";
    PlanDeleted = "Plan deleted.";
    PlanKept = "Not deleted: the plan has licenses.";
    LicenseCreated = "License created.";
    LicenseCreatedFor = "License created and assigned.";
    LicenseActivated = "License activated. Its users are valid again, as long as seats are free.";
    LicenseActivatedLate =
        "License activated, but it ended on {to}. Its users are refused until you renew it.";
    LicenseSuspended = "License suspended. Its users are now refused.";
    LicenseRevoked = "License revoked. Its users are now refused.";
    LicenseExpired = "License set to expired. Its users are now refused.";
    LicenseDeleted = "License deleted.";
    NoneMarked = "Nothing was changed: mark the licenses to renew first.";
    Renewed = "Renewed {to}.";
    LicenseKept = "Not deleted: the license is or was assigned. Revoke it instead.";
    LicenseKeyRevoked = "License key revoked. Users who have claimed with it keep the license.";
    LicenseKeyShownOnce = "This license key was made a moment ago and cannot be shown again. If you did \
        not copy it, replace it.";
    LimitChanged = "Seat limit changed from {from} to {to}.";
    SeveralSaved = "Saved {to}.";
    TermsChanged = "Floating, grace and offline saved.";
    PlanChanged = "Plan changed. Each user gets what it has with the next validation.";
    Handed = "License handed from {from} to {to}.";
    HandedWithSeat = "License and seat handed from {from} to {to}.";
    SeatReleased = "Seat freed. The user stays assigned.";
    SeatFreedBefore = "Nothing to free: the user holds no seat.";
    LimitBelowUsed = "Seat limit changed from {from} to {to}. More seats are in use, and \
        their users keep them. No other user gets a seat until enough of them are freed.";
    ExpiryChanged = "Expiry changed from {from} to {to}.";
    ExpiryPassed = "Expiry changed from {from} to {to}. That is in the past: users of the license \
        are now refused.";
    NameChanged = "Name saved.";
    FeaturesAdded = "Added {to}. Each user gets the features with the next validation.";
    FeaturesRemoved = "Removed {from}. Each user loses that with the next validation.";
    FeaturesReplaced = "Removed {from}; added {to}. Each user gets the change with the next \
        validation.";
    FeaturesSorted = "The features are in another order.";
    Assigned = "License assigned. The user's first validation takes a seat.";
    AssignedFull = "License assigned, but all seats are taken ({to}). The user is refused until \
        one is free.";
    AssignedInvalid = "License assigned, but it is {to}: its users are refused.";
    AssignedBefore = "This user already has the license. Nothing was changed.";
    Unassigned = "License unassigned. The user held no seat.";
    SeatFreed = "License unassigned. The user's seat is free.";
    UnassignedBefore = "This user no longer has the license. Nothing was changed.";
    UserCreated = "User created.";
    UserUpdated = "User saved.";
    UserDeleted = "User deleted.";
    EditConflict = "Nothing was changed, because another user changed this in the meantime. The \
        page shows the current values.";
    Unchanged = "Already up to date. Nothing was changed.";
    KeyShownOnce = "This key was created a moment ago and cannot be shown again. If you did not \
        copy it, revoke it and create another.";
    KeyRevoked = "Key revoked. Requests with it are now refused, and its sessions have ended.";
    SigningKeysCreated = "Two signing keys created. Embed both in your application before the first \
        lease: licctl signing-keys export.";
    SigningKeysRotated = "The key that was on standby signs now, and there is another one on standby. \
        Embed the keys again in your next build.";
    SigningKeyDeleted = "Signing key deleted. Builds from now on refuse what it has signed.";
    SessionEnded = "Session ended.";
    WebhookSecretShownOnce = "This secret was made a moment ago and cannot be shown again. If you did not \
        copy it, replace it.";
    WebhookUpdated = "Webhook saved.";
    WebhookEnabled = "Webhook enabled. It gets what it missed.";
    WebhookDisabled = "Webhook disabled. Nothing is sent until it is enabled again.";
    WebhookDelivered = "The event was sent, and taken with the status {to}.";
    WebhookNotDelivered = "The event was sent, and not taken: {to}.";
    WebhookRetried = "What was given up is sent again, and what followed it.";
    WebhookReplayed = "These events are sent again.";
    WebhookSkipped = "What was not sent yet is skipped.";
    WebhookDeleted = "Webhook deleted. Nothing is sent any more.";
}

impl Notice {
    pub fn with(self, from: impl Into<String>, to: impl Into<String>) -> Done {
        Done { notice: self, from: from.into(), to: to.into() }
    }

    /// This notice, or that nothing was changed.
    pub fn unless(self, is_unchanged: bool) -> Self {
        if is_unchanged { Self::Unchanged } else { self }
    }
}

/// A notice with the values before and after.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Done {
    notice: Notice,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    from: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    to: String,
}

impl From<Notice> for Done {
    fn from(notice: Notice) -> Self {
        notice.with("", "")
    }
}

impl Done {
    /// Parses the notice in the query of a URL. An attacker can create a URL, so values may contain
    /// only a few plain characters and no sentences.
    pub fn parse(query: &str) -> Option<Self> {
        let done: Self = serde_urlencoded::from_str(query).ok()?;
        let fits = |value: &str, place| {
            Self::fits(value) && value.is_empty() != done.notice.text().contains(place)
        };
        (fits(&done.from, "{from}") && fits(&done.to, "{to}")).then_some(done)
    }

    /// Whether a notice can show this value.
    pub fn fits(value: &str) -> bool {
        const LONGEST: usize = 24;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" -_.:,".contains(&byte);
        value.len() <= LONGEST && value.bytes().all(is_plain)
    }

    /// The query of an address that shows the notice.
    pub fn query(&self) -> String {
        serde_urlencoded::to_string(self).unwrap_or_default()
    }

    /// Whether it is more than a success.
    pub fn warns(&self) -> bool {
        matches!(
            self.notice,
            Notice::ProductTwinCreated
                | Notice::ProductKept
                | Notice::PlanKept
                | Notice::LicenseKept
                | Notice::LicenseActivatedLate
                | Notice::LimitBelowUsed
                | Notice::ExpiryPassed
                | Notice::AssignedFull
                | Notice::AssignedInvalid
                | Notice::EditConflict
                | Notice::KeyShownOnce
                | Notice::WebhookSecretShownOnce
                | Notice::WebhookNotDelivered
        )
    }

    pub fn text(&self) -> String {
        self.notice.text().replace("{from}", &self.from).replace("{to}", &self.to)
    }
}
