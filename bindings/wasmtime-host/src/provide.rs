//! The imports of a guest: `kv`, `clock` and `random`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use incumbent::Clock;
use incumbent::incumbent_core::Revision;
use incumbent::incumbent_core::store::Expect;
use incumbent::store::Adapter;
use tokio::sync::Notify;
use wasmtime::component::{HasSelf, Linker, Resource, ResourceTable};

use crate::bindings::incumbent::election::{clock, events, kv, random, records, settings, stores, types};
use crate::bucket::{Bucket, Shared};
use crate::convert::{self, message};
use crate::host::{Computed, Limits};
use crate::watch::Watch;

type Trap<T> = wasmtime::Result<T>;

/// The stores that guests may open, by name, and the clock of their deadlines.
///
/// Cheap to clone; all clones have the same stores. Each store has one connection and one watch for all guests.
#[derive(Clone)]
pub struct Stores {
    clock: Clock,
    buckets: BTreeMap<String, Arc<Shared>>,
}

impl Stores {
    /// Creates an empty set. `clock` is the clock that the stores were opened with.
    pub fn new(clock: Clock) -> Self {
        Self { clock, buckets: BTreeMap::new() }
    }

    /// Adds a store, which [`incumbent::store::open`] opens by URL, under the name that guests use for it.
    #[must_use]
    pub fn with(mut self, bucket: impl Into<String>, store: Box<dyn Adapter>) -> Self {
        self.buckets.insert(bucket.into(), Arc::new(Shared::new(store, self.clock.clone())));
        self
    }

    /// The clock of the guests' deadlines.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// The resources of one guest; kept in the data of its Wasmtime store.
pub struct Provision {
    stores: Stores,
    limits: Limits,
    table: ResourceTable,
    news: Arc<Notify>,
    computed: Computed,
}

impl Provision {
    /// Creates the resources of one guest.
    pub fn new(stores: Stores, limits: Limits) -> Self {
        let (mut table, news) = (ResourceTable::new(), Arc::new(Notify::new()));
        table.set_max_capacity(limits.handles);
        Self { stores, limits, table, news, computed: Computed::default() }
    }

    /// The limits of the guest.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The computing time of the guest; call [`Computed::begin`] before each call of the guest.
    pub fn computed(&self) -> Computed {
        self.computed.clone()
    }

    /// Returns the bucket of a request, and starts the count of the guest's computing time again.
    fn bucket(&mut self, bucket: &Resource<Bucket>) -> Trap<&mut Bucket> {
        self.computed.begin();
        Ok(self.table.get_mut(bucket)?)
    }

    /// Wakes the task that steps this guest when one of its watches has an event.
    pub fn news(&self) -> Arc<Notify> {
        Arc::clone(&self.news)
    }
}

/// The data of a Wasmtime store that contains a [`Provision`].
pub trait Provides: Send {
    /// The resources of the guest.
    fn provision(&mut self) -> &mut Provision;
}

impl Provides for Provision {
    fn provision(&mut self) -> &mut Provision {
        self
    }
}

/// Adds the imports of world `campaigner` to a linker: `kv`, `clock` and `random`.
///
/// It works in the same way for a composition of an application and a campaigner.
///
/// # Errors
/// One of them is in the linker already.
pub fn add_to_linker<T: Provides + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    kv::add_to_linker::<T, HasSelf<Provision>>(linker, T::provision)?;
    clock::add_to_linker::<T, HasSelf<Provision>>(linker, T::provision)?;
    random::add_to_linker::<T, HasSelf<Provision>>(linker, T::provision)
}

impl types::Host for Provision {}
impl records::Host for Provision {}
impl stores::Host for Provision {}
impl settings::Host for Provision {}
impl events::Host for Provision {}

impl clock::Host for Provision {
    async fn now(&mut self) -> Trap<types::Instant> {
        Ok(self.stores.clock.now().as_nanos())
    }

    async fn counts_suspension(&mut self) -> Trap<bool> {
        Ok(self.stores.clock.counts_suspend())
    }
}

impl random::Host for Provision {
    async fn random_u64(&mut self) -> Trap<u64> {
        getrandom::u64().map_err(|cause| wasmtime::Error::msg(format!("no random numbers: {cause}")))
    }
}

impl kv::Host for Provision {
    async fn open(&mut self, bucket: String) -> Trap<Result<Resource<Bucket>, types::Fault>> {
        let Some(shared) = self.stores.buckets.get(&bucket) else {
            let known: Vec<_> = self.stores.buckets.keys().map(String::as_str).collect();
            let detail = format!("the host has no bucket {bucket:?}; it has {}", known.join(", "));
            return Ok(Err(types::Fault::Broken(detail)));
        };
        let opened = Bucket::new(Arc::clone(shared), self.limits.call);
        Ok(Ok(self.table.push(opened)?))
    }
}

impl kv::HostBucket for Provision {
    async fn capabilities(&mut self, bucket: Resource<Bucket>) -> Trap<stores::Capabilities> {
        Ok(self.table.get(&bucket)?.adapter().capabilities().into())
    }

    async fn check(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
        value: String,
    ) -> Trap<Result<(), types::Fault>> {
        let adapter = self.table.get(&bucket)?.adapter();
        let checked = adapter.check_key(&key).and_then(|()| adapter.check_name(&value));
        Ok(checked.map_err(|error| types::Fault::Broken(error.to_string())))
    }

    async fn inspect(
        &mut self,
        bucket: Resource<Bucket>,
        limit: u64,
    ) -> Trap<Result<stores::StoreInfo, types::Fault>> {
        let answer = self.bucket(&bucket)?.inspect(limit).await;
        Ok(answer.map(Into::into).map_err(Into::into))
    }

    async fn read(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
        limit: u64,
    ) -> Trap<Result<Option<records::Message>, types::Fault>> {
        let answer = self.bucket(&bucket)?.read(&key, limit).await;
        Ok(answer.map(|entry| message(&entry)).map_err(Into::into))
    }

    async fn create(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
        put: records::Put,
        limit: u64,
    ) -> Trap<stores::Outcome> {
        let bucket = self.bucket(&bucket)?;
        Ok(bucket.put(&key, Expect::Absent, put.into(), limit).await.into())
    }

    async fn update(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
        expect: u64,
        put: records::Put,
        limit: u64,
    ) -> Trap<stores::Outcome> {
        let bucket = self.bucket(&bucket)?;
        let expect = Expect::Revision(Revision(expect));
        Ok(bucket.put(&key, expect, put.into(), limit).await.into())
    }

    async fn delete(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
        expect: u64,
        headers: types::Headers,
        limit: u64,
    ) -> Trap<stores::Outcome> {
        let bucket = self.bucket(&bucket)?;
        Ok(bucket.delete(&key, expect, convert::headers(headers), limit).await.into())
    }

    async fn reconnect(&mut self, bucket: Resource<Bucket>, limit: u64) -> Trap<Result<(), types::Fault>> {
        Ok(self.bucket(&bucket)?.reconnect(limit).await.map_err(Into::into))
    }

    async fn watch(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
        limit: u64,
    ) -> Trap<Result<Option<Resource<Watch>>, types::Fault>> {
        let news = Arc::clone(&self.news);
        match self.bucket(&bucket)?.watch(key, limit, news).await {
            Ok(watch) => Ok(Ok(Some(self.table.push(watch)?))),
            Err(fault) => Ok(Err(fault.into())),
        }
    }

    async fn drop(&mut self, bucket: Resource<Bucket>) -> Trap<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl kv::HostWatch for Provision {
    async fn poll(&mut self, watch: Resource<Watch>, limit: u64) -> Trap<Result<kv::Change, types::Fault>> {
        let limit = Duration::from_nanos(limit).min(self.limits.call);
        self.computed.begin();
        let shown = self.table.get(&watch)?.poll(limit).await;
        let change = |entry: Option<_>| match entry.as_ref().map(message) {
            None => kv::Change::None,
            Some(None) => kv::Change::Vacant,
            Some(Some(message)) => kv::Change::Message(message),
        };
        Ok(shown.map(change).map_err(Into::into))
    }

    async fn drop(&mut self, watch: Resource<Watch>) -> Trap<()> {
        self.table.delete(watch)?;
        Ok(())
    }
}
