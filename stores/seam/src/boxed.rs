//! Implements the store traits for boxed stores.

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use incumbent_core::record::Entry;
use incumbent_core::store::{Capabilities, Fault, Outcome, StoreInfo, Write};

use crate::adapter::{Adapter, EntryInfo, WatchEvent, Watched};
use crate::error::Result;
use crate::registry::{CandidateInfo, Registry};

#[async_trait]
impl<A: Adapter + ?Sized> Adapter for Box<A> {
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn check_key(&self, key: &str) -> Result<()> {
        (**self).check_key(key)
    }

    fn check_name(&self, name: &str) -> Result<()> {
        (**self).check_name(name)
    }

    fn flaw(&self) -> Option<Fault> {
        (**self).flaw()
    }

    async fn inspect(&self) -> Result<StoreInfo, Fault> {
        (**self).inspect().await
    }

    async fn write(&self, key: &str, write: Write) -> Outcome {
        (**self).write(key, write).await
    }

    async fn read(&self, key: &str) -> Result<Entry, Fault> {
        (**self).read(key).await
    }

    async fn written(&self, key: &str) -> Result<Option<EntryInfo>, Fault> {
        (**self).written(key).await
    }

    async fn list(&self) -> Result<Vec<WatchEvent>, Fault> {
        (**self).list().await
    }

    fn follow(&self, key: &str) {
        (**self).follow(key);
    }

    fn unfollow(&self, key: &str) {
        (**self).unfollow(key);
    }

    async fn watch(&self) -> Result<BoxStream<'static, Watched>, Fault> {
        (**self).watch().await
    }

    async fn reconnect(&self) {
        (**self).reconnect().await;
    }

    async fn register(&self, registry: &Registry) -> Result<(), Fault> {
        (**self).register(registry).await
    }

    async fn candidates(&self) -> Result<Option<Vec<CandidateInfo>>, Fault> {
        (**self).candidates().await
    }

    async fn close(&self) {
        (**self).close().await;
    }
}
