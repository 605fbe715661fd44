//! Scenarios: initial licenses, and rounds of calls, drawn so that the calls of a round meet on few
//! users and licenses.

use common::Status;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

pub const USERS: usize = 6;
pub const LICENSES: usize = 3;
/// Licenses belong to these in turn. The number after the last is a product that does not exist.
pub const PRODUCTS: usize = 2;

/// The product of a license.
pub fn product_of(license: usize) -> usize {
    license % PRODUCTS
}

/// Position of a license's end, relative to every moment of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    Never,
    /// Yesterday, so that days of grace last.
    Past,
    Future,
}

/// The terms of a license that decide validations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    pub status: Status,
    pub max_seats: Option<i32>,
    pub expiry: Expiry,
}

/// One request. Users, licenses and products are numbers. Those with `drop` take seats away also
/// while leases hold them.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    Validate {
        user: usize,
        product: Option<usize>,
    },
    Explain {
        user: usize,
        product: Option<usize>,
    },
    Assign {
        user: usize,
        license: usize,
    },
    Unassign {
        user: usize,
        license: usize,
        drop: bool,
    },
    SetStatus {
        license: usize,
        status: Status,
    },
    SetSeats {
        license: usize,
        max_seats: Option<i32>,
    },
    SetExpiry {
        license: usize,
        expiry: Expiry,
    },
    MakeUser {
        user: usize,
    },
    DeleteUser {
        user: usize,
        drop: bool,
    },
    /// A validation whose answer is signed.
    Lease {
        user: usize,
        product: usize,
    },
    Usage {
        license: usize,
    },
    /// The user types the license's key.
    Claim {
        user: usize,
        license: usize,
        /// Whether the user may have had the license when the claim came; the scenario does not say.
        may_have: bool,
    },
    /// The application gives back the user's floating seats.
    Release {
        user: usize,
    },
    /// An administrator hands the license with its seat to another user, or to the same one.
    Transfer {
        user: usize,
        to: usize,
        license: usize,
        drop: bool,
    },
}

/// Users who were away long enough for their seats to be idle, and the calls that follow.
#[derive(Clone, Debug)]
pub struct Round {
    pub away: Vec<usize>,
    pub calls: Vec<Call>,
}

/// The licenses and calls of one game.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub max_seats: Vec<Option<i32>>,
    /// Whether each license has an idle time.
    pub floating: Vec<bool>,
    /// Whether each license has days of grace.
    pub has_grace: Vec<bool>,
    /// Whether each license waits for its first validation.
    pub waits: Vec<bool>,
    /// Calls before the first round, one after another, so that the rounds have something to
    /// compete for.
    pub prelude: Vec<Call>,
    /// The calls of a round are under way at the same time. A round begins when the last call has
    /// ended.
    pub rounds: Vec<Round>,
}

pub fn scenarios() -> impl Strategy<Value = Scenario> {
    let prelude = vec(prop_oneof![8 => assign(), 2 => set_status(), 1 => set_expiry()], 0..24);
    // A lease that meets what takes its seat away is two calls, which no order of whole ones
    // explains.
    let leases = vec(prop_oneof![2 => lease(), 1 => validate()], 3..=6);
    let round = prop_oneof![
        2 => vec(calls(), 3..=6),
        1 => vec(validate(), 3..=6),
        1 => leases,
    ];
    let away = prop_oneof![1 => Just(Vec::new()), 1 => vec(0..USERS, 1..USERS)];
    let round = (away, round).prop_map(|(away, calls)| Round { away, calls });
    let licenses = vec((limits(), any::<bool>(), any::<bool>(), any::<bool>()), LICENSES);
    (licenses, prelude, vec(round, 1..16)).prop_map(|(licenses, prelude, rounds)| Scenario {
        max_seats: licenses.iter().map(|license| license.0).collect(),
        floating: licenses.iter().map(|license| license.1).collect(),
        has_grace: licenses.iter().map(|license| license.2).collect(),
        waits: licenses.iter().map(|license| license.3).collect(),
        prelude,
        rounds,
    })
}

/// Mostly what keeps licenses in use: else nearly all answers would be refusals.
fn calls() -> impl Strategy<Value = Call> {
    let unassign = (0..USERS, 0..LICENSES, any::<bool>());
    let unassign =
        unassign.prop_map(|(user, license, drop)| Call::Unassign { user, license, drop });
    let transfer = (0..USERS, 0..USERS, 0..LICENSES, any::<bool>());
    let transfer =
        transfer.prop_map(|(user, to, license, drop)| Call::Transfer { user, to, license, drop });
    let delete = (0..USERS, any::<bool>());
    let set_seats = (0..LICENSES, limits());
    let explain = (0..USERS, option::of(0..=PRODUCTS));
    prop_oneof![
        10 => validate(),
        4 => assign(),
        3 => unassign,
        2 => set_status(),
        2 => set_seats.prop_map(|(license, max_seats)| Call::SetSeats { license, max_seats }),
        1 => set_expiry(),
        1 => explain.prop_map(|(user, product)| Call::Explain { user, product }),
        3 => claim(),
        1 => (0..USERS).prop_map(|user| Call::MakeUser { user }),
        2 => delete.prop_map(|(user, drop)| Call::DeleteUser { user, drop }),
        1 => (0..LICENSES).prop_map(|license| Call::Usage { license }),
        1 => (0..USERS).prop_map(|user| Call::Release { user }),
        3 => transfer,
    ]
}

/// Few seats, so that users compete.
fn limits() -> impl Strategy<Value = Option<i32>> {
    prop_oneof![1 => Just(None), 6 => (1..=3).prop_map(Some)]
}

fn validate() -> impl Strategy<Value = Call> {
    let product = prop_oneof![6 => Just(None), 3 => (0..=PRODUCTS).prop_map(Some)];
    (0..USERS, product).prop_map(|(user, product)| Call::Validate { user, product })
}

fn lease() -> impl Strategy<Value = Call> {
    (0..USERS, 0..=PRODUCTS).prop_map(|(user, product)| Call::Lease { user, product })
}

fn assign() -> impl Strategy<Value = Call> {
    (0..USERS, 0..LICENSES).prop_map(|(user, license)| Call::Assign { user, license })
}

fn claim() -> impl Strategy<Value = Call> {
    let claim = |(user, license)| Call::Claim { user, license, may_have: false };
    (0..USERS, 0..LICENSES).prop_map(claim)
}

fn set_status() -> impl Strategy<Value = Call> {
    let status = prop_oneof![1 => Just(Status::Active), 1 => select(Status::ALL)];
    (0..LICENSES, status).prop_map(|(license, status)| Call::SetStatus { license, status })
}

fn set_expiry() -> impl Strategy<Value = Call> {
    let expiry = select(vec![Expiry::Never, Expiry::Future, Expiry::Past]);
    (0..LICENSES, expiry).prop_map(|(license, expiry)| Call::SetExpiry { license, expiry })
}
