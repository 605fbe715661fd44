//! Examples of bodies: values of the Rust types, so that they match their schemas. All are about
//! one vendor, whose product is Studio, and one user, ada.

use std::fmt::Debug;
use std::str::FromStr;

use aide::openapi::{Example as NamedExample, MediaType, ReferenceOr, SchemaObject};
use common::{
    Activation, ActorType, AssignLicense, Assignment, Claim, ConstBool, CreateLicense, CreatePlan,
    CreateProduct, CreateUser, Event, EventActor, EventData, EventSubject, EventType, Explain,
    ExplainedLicense, Explanation, ExternalId, Feature, Features, ForgetUser, ForgottenUser,
    HourStatistics, License, LicenseAssignment, LicenseDetails, LicenseField, LicenseWithSeats,
    Line, List, Metadata, Name, Open, Paged, Plan, Product, Reason, RelatedRecords, Release,
    ReleaseSeat, Released, ReleasedSeat, RemainingData, RemainingType, Seats, SetStatus,
    Statistics, Status, SubjectType, Success, Terms, Timestamp, TransferLicense, UpdateLicense,
    UpdatePlan, UpdateProduct, UpdateUser, Usage, UsageActivation, User, UserRefusal, Validate,
    Validation, Verdict,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A body with an example.
pub trait Example: JsonSchema + Serialize + Sized {
    fn example() -> Self;

    /// The variants of a body that has several, with their names.
    fn shapes() -> Vec<(&'static str, Self)> {
        Vec::new()
    }

    /// The body with its schema and examples.
    fn media(schema: SchemaObject) -> MediaType {
        let mut media = MediaType { schema: Some(schema), ..MediaType::default() };
        for (name, shape) in Self::shapes() {
            let value = serde_json::to_value(shape).ok();
            let example = NamedExample { value, ..NamedExample::default() };
            media.examples.insert(name.to_owned(), ReferenceOr::Item(example));
        }
        if media.examples.is_empty() {
            media.example = serde_json::to_value(Self::example()).ok();
        }
        media
    }
}

impl<T: Example> Example for Success<T> {
    fn example() -> Self {
        Self::new(T::example())
    }

    fn shapes() -> Vec<(&'static str, Self)> {
        T::shapes().into_iter().map(|(name, shape)| (name, Self::new(shape))).collect()
    }
}

impl<T: Example> Example for List<T> {
    fn example() -> Self {
        Self { success: ConstBool, data: vec![T::example()], next_cursor: None }
    }
}

impl<T: Example> Example for Paged<T> {
    fn example() -> Self {
        Self { success: ConstBool, data: T::example(), next_cursor: None }
    }
}

impl Example for Validation {
    fn example() -> Self {
        Self::valid(License::example(), Activation::example(), None)
    }

    fn shapes() -> Vec<(&'static str, Self)> {
        vec![("valid", Self::example()), ("invalid", Self::invalid(Reason::NoLicense))]
    }
}

macro_rules! examples {
    ($($name:ident { $($member:ident: $value:expr,)* })*) => {$(
        impl Example for $name {
            fn example() -> Self {
                Self { $($member: $value),* }
            }
        }
    )*};
}

mod keys;
mod leases;
mod webhooks;

// Requests.
examples! {
    Validate { user_id: ada(), product_id: None, }
    Explain { user_id: ada(), product_id: None, }
    CreateProduct { name: studio(), description: None, }
    UpdateProduct { name: None, description: Some(Line::from_static("Drawing for teams")), clear: None, }
    CreatePlan {
        product_id: id("prd"),
        name: Name::from_static("Team"),
        description: None,
        max_seats: Some(parsed("5")),
        expires_in_days: Some(parsed("365")),
        features: Some(features()),
        seat_idle_minutes: None,
        grace_days: None,
        expires_from: None,
        max_lease_seconds: None,
    }
    UpdatePlan {
        name: None,
        description: None,
        max_seats: Some(parsed("10")),
        expires_in_days: None,
        features: None,
        seat_idle_minutes: None,
        grace_days: None,
        expires_from: None,
        max_lease_seconds: None,
        clear: None,
    }
    CreateLicense {
        plan_id: id("pln"),
        expires_in_days: Some(parsed("30")),
        expires_at: None,
        name: Some(acme()),
        metadata: None,
    }
    UpdateLicense {
        max_seats: Some(parsed("10")),
        expires_at: None,
        features: None,
        name: None,
        metadata: None,
        merge_metadata: None,
        seat_idle_minutes: None,
        grace_days: None,
        starts_with_days: None,
        max_lease_seconds: None,
        plan_id: None,
        clear: Some(vec![LicenseField::ExpiresAt]),
    }
    SetStatus { status: Status::Suspended, }
    AssignLicense {
        user_id: ada(), metadata: Some(metadata()), merge_metadata: None, first: false,
    }
    CreateUser {
        external_id: ada(),
        email: Some(email()),
        name: Some(Name::from_static("Ada")),
        metadata: None,
        merge_metadata: None,
    }
    UpdateUser {
        external_id: None,
        email: Some(email()),
        name: None,
        metadata: None,
        merge_metadata: None,
        clear: None,
    }
    Claim { user_id: ada(), key: parsed(LICENSE_KEY), product_id: None, }
    Release { user_id: ada(), product_id: None, checked_at: Some(checked()), }
    ReleaseSeat { user_id: ada(), }
    TransferLicense { from_user_id: ada(), to_user_id: parsed("bob"), }
}

// Answers.
examples! {
    Released { released: vec![ReleasedSeat { license_id: id("lic") }], leased: Vec::new(), }
    Product { id: id("prd"), name: studio(), description: None, created_at: created(), updated_at: created(), }
    Plan {
        id: id("pln"),
        product_id: id("prd"),
        name: Name::from_static("Team"),
        description: None,
        max_seats: Some(parsed("5")),
        expires_in_days: Some(parsed("365")),
        features: features(),
        created_at: created(),
        updated_at: created(),
        seat_idle_minutes: None,
        grace_days: Some(parsed("14")),
        expires_from: None,
        max_lease_seconds: None,
    }
    License {
        id: id("lic"),
        product_id: id("prd"),
        plan_id: id("pln"),
        status: Status::Active,
        max_seats: Some(parsed("5")),
        expires_at: Some(parsed("2028-01-31T12:00:00.000Z")),
        features: features(),
        created_at: created(),
        updated_at: created(),
    }
    LicenseWithSeats {
        details: LicenseDetails {
            license: License::example(),
            name: Some(acme()),
            metadata: None,
            terms: Terms { grace_days: Some(parsed("14")), ..Terms::default() },
        },
        seats: Seats { used: 1, allowed: Some(parsed("5")) },
    }
    Assignment {
        id: id("asg"),
        user_id: id("usr"),
        license_id: id("lic"),
        assigned_at: created(),
        metadata: Some(metadata()),
    }
    LicenseAssignment {
        assignment: Assignment::example(),
        external_id: ada(),
        email: Some(email()),
        name: Some(Name::from_static("Ada")),
        activation: Some(Activation::example()),
    }
    Activation {
        id: id("act"),
        user_id: id("usr"),
        license_id: id("lic"),
        activated_at: created(),
        last_checked_at: checked(),
        leased_until: None,
    }
    Usage {
        license: License::example(),
        activations: vec![UsageActivation {
            activation: Activation::example(),
            external_id: ada(),
            email: Some(email()),
        }],
        total_activations: 1,
        active_seats: 1,
    }
    User {
        id: id("usr"),
        tenant_id: id("ten"),
        external_id: ada(),
        email: Some(email()),
        name: Some(Name::from_static("Ada")),
        metadata: None,
        created_at: created(),
        updated_at: created(),
    }
    ForgetUser { external_id: Some(true), }
    ForgottenUser {
        user_id: id("usr"),
        external_id: parsed("forgotten-01h455vb4pex5vsknk084sn02q"),
        changed_events: 12,
        remaining: vec![RemainingData {
            kind: Open::Known(RemainingType::Backup),
            description: "Backups of the database. After you restore one, repeat this request.".to_owned(),
            license_id: None,
            until: None,
        }],
    }
    UserRefusal {
        id: id("ref"),
        user_id: ada(),
        reason: Open::Known(Reason::Expired),
        license_id: Some(id("lic")),
        hour: created(),
        count: 3,
        first_at: created(),
        last_at: checked(),
    }
    Statistics {
        from: created(),
        to: parsed("2027-01-31T13:00:00.000Z"),
        hours: vec![HourStatistics { total: 12, valid: 11, expired: 1, ..HourStatistics::empty(created()) }],
    }
    Explanation {
        valid: true,
        reason: None,
        summary: "ada is licensed.".to_owned(),
        checked_at: checked(),
        user: Some(User::example()),
        licenses: vec![ExplainedLicense {
            license: License::example(),
            product_name: studio(),
            plan_name: Name::from_static("Team"),
            assigned_at: created(),
            name: Some(Name::from_static("Order 4711")),
            claimed_with: None,
            terms: Terms::default(),
            seats_used: 1,
            activation: Some(Activation::example()),
            verdict: Open::Known(Verdict::Valid),
            sentence: "Valid, and the user holds a seat.".to_owned(),
            remedies: Vec::new(),
        }],
        refusals: Vec::new(),
        similar_users: Vec::new(),
        renamed_to: None,
    }
    Event {
        id: id("evt"),
        sequence: 1042,
        kind: Open::Known(EventType::LicenseStatusChanged),
        time: checked(),
        actor: EventActor {
            kind: Open::Known(ActorType::Key),
            id: Some(id_text("key")),
            name: Some("CI".to_owned()),
            key_id: Some(id("key")),
        },
        subject: EventSubject { kind: Open::Known(SubjectType::License), id: id_text("lic") },
        related: RelatedRecords {
            product_id: Some(id("prd")),
            plan_id: Some(id("pln")),
            license_id: Some(id("lic")),
            ..RelatedRecords::default()
        },
        data: EventData { object: object(&License::example()), previous: Some(object(&SetStatus::example())), reason: None, },
        request_id: Some(REQUEST_ID.to_owned()),
    }
}

/// The request id in examples.
pub const REQUEST_ID: &str = "01a2024ada1f7d10b1a3b0a8bb3f2c61";

/// A license key that no license has.
const LICENSE_KEY: &str = "7KQ4M-0A1B1-C2D3E-4F5G6-7J8KX";

/// A key that is not in use anywhere.
const KEY: &str = "sk_test_ExampleExampleExampleExampleExam1jM1PX";

#[expect(clippy::expect_used, reason = "the texts are constants, and a test builds the document")]
fn parsed<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().expect("the text is valid")
}

fn id_text(kind: &str) -> String {
    format!("{kind}_01h455vb4pex5vsknk084sn02q")
}

fn id<T: FromStr<Err: Debug>>(kind: &str) -> T {
    parsed(&id_text(kind))
}

fn created() -> Timestamp {
    parsed("2027-01-31T12:00:00.000Z")
}

fn checked() -> Timestamp {
    parsed("2027-01-31T12:34:56.789Z")
}

fn ada() -> ExternalId {
    ExternalId::from_static("ada")
}

fn email() -> Line {
    Line::from_static("ada@example.com")
}

fn studio() -> Name {
    Name::from_static("Studio")
}

fn acme() -> Name {
    Name::from_static("Acme Ltd")
}

fn features() -> Features {
    Features::new(vec![Feature::from_static("export"), Feature::from_static("sso")])
        .unwrap_or_default()
}

fn metadata() -> Metadata {
    let members = [("team".to_owned(), Value::from("design"))];
    Metadata::new(members.into_iter().collect()).unwrap_or_default()
}

fn object(record: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(record) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}
