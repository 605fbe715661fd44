//! Batches on a sharded database: a statement names one world, so the requests of each world are
//! handled together, and the worlds at the same time.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;

use super::batch::BatchValidator;
use super::request::ValidationRequest;
use crate::db::Result;
use crate::error::Error;
use crate::store::World;
use crate::store::keys::{self, Hash};

impl BatchValidator {
    /// Returns the world of each request's key: none has the number 0, so an unknown key is not found
    /// there. Looks those up that were not seen before.
    pub async fn worlds(&self, requests: &[ValidationRequest]) -> Result<Vec<World>> {
        let hints = &self.gate.hints;
        let new = requests.iter().map(|request| request.key);
        let new: BTreeSet<Hash> = new.filter(|key| hints.world(key).is_none()).collect();
        let new: Vec<Hash> = new.into_iter().collect();
        if !new.is_empty() {
            let mut conn = self.db.read_for_validations().await?;
            for found in keys::scopes(&mut conn, &new).await? {
                hints.observe(&new[found.n as usize - 1], found.scope, 1);
            }
        }
        let world = |request: &ValidationRequest| hints.world(&request.key);
        Ok(requests.iter().map(|request| world(request).unwrap_or(World::from(0))).collect())
    }
}

/// The requests of a batch by world.
pub struct ByWorld<'a, Q> {
    requests: &'a [Q],
    /// The positions of each world's requests.
    places: BTreeMap<World, Vec<usize>>,
}

impl<'a, Q> ByWorld<'a, Q> {
    pub fn new(requests: &'a [Q], worlds: impl IntoIterator<Item = World>) -> Self {
        let mut places = BTreeMap::<World, Vec<usize>>::new();
        for (place, world) in worlds.into_iter().enumerate() {
            places.entry(world).or_default().push(place);
        }
        Self { requests, places }
    }

    /// Handles the worlds at the same time, and returns the answers in the order of the requests. If
    /// a world fails, and others do not, its answers are what `failed` makes of the error.
    pub async fn handle<A, F>(
        self,
        handle: impl Fn(Vec<&'a Q>, World) -> F,
        failed: impl Fn(Error) -> A,
    ) -> Result<Vec<A>, Error>
    where
        F: Future<Output = Result<Vec<A>, Error>>,
    {
        let handled = self.places.iter().map(|(world, places)| {
            handle(places.iter().map(|place| &self.requests[*place]).collect(), *world)
        });
        let handled = join_all(handled).await;
        // The queue handles the requests of a batch one by one that failed by an internal error.
        if handled.iter().any(|part| matches!(part, Err(Error::Internal))) {
            return Err(Error::Internal);
        }
        if let Some(Err(error)) = handled.first()
            && handled.iter().all(Result::is_err)
        {
            return Err(error.clone());
        }
        let mut answers: Vec<Option<A>> = self.requests.iter().map(|_| None).collect();
        for (places, part) in self.places.values().zip(handled) {
            match part {
                Ok(part) => {
                    places.iter().zip(part).for_each(|(place, it)| answers[*place] = Some(it));
                }
                Err(error) => {
                    places.iter().for_each(|place| answers[*place] = Some(failed(error.clone())));
                }
            }
        }
        answers.into_iter().map(|answer| answer.ok_or(Error::Internal)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers each request with its world, unless the world is one that fails.
    async fn handled(worlds: &[i32], failing: &[(i32, Error)]) -> Result<Vec<String>, Error> {
        let worlds = worlds.iter().map(|number| World::from(*number));
        let requests: Vec<_> = worlds.clone().collect();
        let handle = async |part: Vec<&World>, world: World| {
            let fails = failing.iter().find(|(number, _)| World::from(*number) == world);
            let answer = |of: &World| format!("{} in {}", of.number(), world.number());
            fails.map_or_else(
                || Ok(part.into_iter().map(answer).collect()),
                |(_, error)| Err(error.clone()),
            )
        };
        ByWorld::new(&requests, worlds).handle(handle, |error| format!("{error:?}")).await
    }

    #[tokio::test]
    async fn a_world_that_fails_does_so_alone() {
        let away = || (2, Error::Unavailable);
        assert_eq!(handled(&[], &[]).await, Ok(vec![]));
        assert_eq!(handled(&[1, 2, 1], &[]).await.unwrap(), ["1 in 1", "2 in 2", "1 in 1"]);
        let answers = handled(&[2, 1, 2], &[away()]).await.unwrap();
        assert_eq!(answers, ["Unavailable", "1 in 1", "Unavailable"]);
        assert_eq!(handled(&[2, 2], &[away()]).await, Err(Error::Unavailable));
        let broken = [away(), (1, Error::Internal)];
        assert_eq!(handled(&[1, 2, 3], &broken).await, Err(Error::Internal), "each by itself");
    }
}
