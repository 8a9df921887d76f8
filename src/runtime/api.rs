//! The typed API of a resource, thin over requests that know no type.
//!
//! `kube::Api` decodes every kind in its own copies of the whole request path: list, watch, patch
//! and delete each with their state machines, and each kind from four serde formats. This one has
//! the same methods; what they send and wait for is the same code for all kinds, and a kind is
//! decoded from one format in one place ([`decode`]).

use std::marker::PhantomData;

use either::Either;
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::api::{DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, TypeMeta};
use kube::core::object::ObjectList;
use kube::core::request::{self, Request};
use kube::core::response::Status;
use kube::core::{DynamicResourceScope, NamespaceResourceScope, metadata::PartialObjectMeta};
use kube::{Client, Error, Resource, Result};
use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned};
use serde_json::Value;
use serde_json::value::RawValue;

/// Reads and writes the objects of one kind, in one namespace or in all.
pub struct Api<K> {
    raw: RawApi,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        self.raw.clone().typed()
    }
}

/// What an [`Api`] is without its type.
#[derive(Clone)]
pub(crate) struct RawApi {
    pub(crate) client: Client,
    pub(crate) request: Request,
}

impl RawApi {
    fn new(client: Client, url: String) -> Self {
        Self {
            client,
            request: Request::new(url),
        }
    }

    fn typed<K>(self) -> Api<K> {
        Api {
            raw: self,
            kind: PhantomData,
        }
    }

    fn text(&self, request: Built) -> BoxFuture<'static, Result<String>> {
        let client = self.client.clone();
        async move {
            let request = request.map_err(Error::BuildRequest)?;
            client.request_text(request).await
        }
        .boxed()
    }

    /// The object of that name; none where the API server has none.
    fn get_opt(&self, request: Built) -> BoxFuture<'static, Result<Option<String>>> {
        let text = self.text(request);
        async move {
            match text.await {
                Ok(text) => Ok(Some(text)),
                Err(Error::Api(status)) if status.is_not_found() => Ok(None),
                Err(error) => Err(error),
            }
        }
        .boxed()
    }

    fn list(&self, request: Built) -> BoxFuture<'static, Result<RawList>> {
        let text = self.text(request);
        async move { decode::<RawList>(&text.await?) }.boxed()
    }

    /// The text of the deleted object, or the Status that stands for it.
    fn delete(&self, request: Built) -> BoxFuture<'static, Result<Either<String, Status>>> {
        let text = self.text(request);
        async move {
            let text = text.await?;
            let types: TypeMeta = decode(&text)?;
            match types.kind == "Status" {
                true => Ok(Either::Right(decode(&text)?)),
                false => Ok(Either::Left(text)),
            }
        }
        .boxed()
    }
}

type Built = std::result::Result<http::Request<Vec<u8>>, request::Error>;

/// A list whose items are not decoded yet.
#[derive(serde::Deserialize)]
struct RawList {
    #[serde(default = "v1", rename = "apiVersion")]
    api_version: String,
    #[serde(default = "list")]
    kind: String,
    #[serde(default)]
    metadata: kube::core::ListMeta,
    /// Go writes an empty list as null.
    items: Option<Vec<Box<RawValue>>>,
}

fn v1() -> String {
    "v1".to_owned()
}

fn list() -> String {
    "List".to_owned()
}

impl RawList {
    fn typed<K: DeserializeOwned + Clone>(self) -> Result<ObjectList<K>> {
        let items = self.items.iter().flatten();
        let items = items.map(|item| decode(item.get()));
        Ok(ObjectList {
            types: TypeMeta {
                api_version: self.api_version,
                kind: self.kind,
            },
            metadata: self.metadata,
            items: items.collect::<Result<_>>()?,
        })
    }
}

/// Decodes what the API server answered.
///
/// # Errors
/// What serde says of a text that is not such an object.
pub(crate) fn decode<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    serde_json::from_str(text).map_err(Error::SerdeError)
}

fn encode<T: Serialize>(object: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(object).map_err(Error::SerdeError)
}

/// The same patch as a value, so that requests are built by one code for all types.
fn untyped<P: Serialize>(patch: &Patch<P>) -> Result<Patch<Value>> {
    let value = |p: &P| serde_json::to_value(p).map_err(Error::SerdeError);
    Ok(match patch {
        Patch::Apply(p) => Patch::Apply(value(p)?),
        Patch::Json(p) => Patch::Json(p.clone()),
        Patch::Merge(p) => Patch::Merge(value(p)?),
        Patch::Strategic(p) => Patch::Strategic(value(p)?),
        // `Patch` may grow; this is all of it today.
        _ => {
            let message = "this form of patch is not supported".to_owned();
            return Err(Error::BuildRequest(request::Error::Validation(message)));
        }
    })
}

impl<K: Resource> Api<K> {
    /// The objects of a kind named at run time, in all namespaces or of the cluster.
    pub fn all_with(client: Client, kind: &K::DynamicType) -> Self {
        RawApi::new(client, K::url_path(kind, None)).typed()
    }

    /// The objects of a kind named at run time, in one namespace.
    pub fn namespaced_with(client: Client, namespace: &str, kind: &K::DynamicType) -> Self
    where
        K: Resource<Scope = DynamicResourceScope>,
    {
        RawApi::new(client, K::url_path(kind, Some(namespace))).typed()
    }
}

impl<K: Resource> Api<K> {
    /// The objects of a kind named at run time, in the default namespace of the client.
    pub fn default_namespaced_with(client: Client, kind: &K::DynamicType) -> Self
    where
        K: Resource<Scope = DynamicResourceScope>,
    {
        let namespace = client.default_namespace().to_owned();
        Self::namespaced_with(client, &namespace, kind)
    }
}

impl<K: Resource> Api<K>
where
    K::DynamicType: Default,
{
    /// The objects of all namespaces, or those of the cluster.
    pub fn all(client: Client) -> Self {
        Self::all_with(client, &K::DynamicType::default())
    }

    /// The objects of one namespace.
    pub fn namespaced(client: Client, namespace: &str) -> Self
    where
        K: Resource<Scope = NamespaceResourceScope>,
    {
        let url = K::url_path(&K::DynamicType::default(), Some(namespace));
        RawApi::new(client, url).typed()
    }
}

impl<K> Api<K> {
    pub(crate) fn into_raw(self) -> RawApi {
        self.raw
    }
}

impl<K: DeserializeOwned + Clone> Api<K> {
    /// The object of that name.
    ///
    /// # Errors
    /// A Status of the API server (404 where there is none), or that it was not reached.
    pub async fn get(&self, name: &str) -> Result<K> {
        let request = self.raw.request.get(name, &GetParams::default());
        decode(&self.raw.text(request).await?)
    }

    /// The object of that name, or none.
    ///
    /// # Errors
    /// A Status other than 404, or that the API server was not reached.
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>> {
        let request = self.raw.request.get(name, &GetParams::default());
        let text = self.raw.get_opt(request).await?;
        text.as_deref().map(decode).transpose()
    }

    /// The metadata of the object of that name.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_metadata(&self, name: &str) -> Result<PartialObjectMeta<K>> {
        let request = self.raw.request.get_metadata(name, &GetParams::default());
        decode(&self.raw.text(request).await?)
    }

    /// The metadata of the object of that name, or none.
    ///
    /// # Errors
    /// As [`get_opt`](Self::get_opt).
    pub async fn get_metadata_opt(&self, name: &str) -> Result<Option<PartialObjectMeta<K>>> {
        let request = self.raw.request.get_metadata(name, &GetParams::default());
        let text = self.raw.get_opt(request).await?;
        text.as_deref().map(decode).transpose()
    }

    /// The objects that match.
    ///
    /// # Errors
    /// A Status of the API server, or that it was not reached.
    pub async fn list(&self, params: &ListParams) -> Result<ObjectList<K>> {
        self.raw.list(self.raw.request.list(params)).await?.typed()
    }

    /// The metadata of the objects that match.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn list_metadata(
        &self,
        params: &ListParams,
    ) -> Result<ObjectList<PartialObjectMeta<K>>> {
        let request = self.raw.request.list_metadata(params);
        self.raw.list(request).await?.typed()
    }

    /// Creates the object.
    ///
    /// # Errors
    /// A Status of the API server, or that it was not reached.
    pub async fn create(&self, params: &PostParams, object: &K) -> Result<K>
    where
        K: Serialize,
    {
        let request = self.raw.request.create(params, encode(object)?);
        decode(&self.raw.text(request).await?)
    }

    /// Replaces the object; its resource version has to be the newest.
    ///
    /// # Errors
    /// As [`create`](Self::create), 409 where the object was changed since it was read.
    pub async fn replace(&self, name: &str, params: &PostParams, object: &K) -> Result<K>
    where
        K: Serialize,
    {
        let request = self.raw.request.replace(name, params, encode(object)?);
        decode(&self.raw.text(request).await?)
    }

    /// Replaces the status of the object.
    ///
    /// # Errors
    /// As [`replace`](Self::replace).
    pub async fn replace_status(&self, name: &str, params: &PostParams, object: &K) -> Result<K>
    where
        K: Serialize,
    {
        self.replace_subresource("status", name, params, object)
            .await
    }

    /// Replaces a subresource.
    ///
    /// # Errors
    /// As [`replace`](Self::replace).
    pub async fn replace_subresource(
        &self,
        subresource: &str,
        name: &str,
        params: &PostParams,
        object: &K,
    ) -> Result<K>
    where
        K: Serialize,
    {
        let object = encode(object)?;
        let request = &self.raw.request;
        let request = request.replace_subresource(subresource, name, params, object);
        decode(&self.raw.text(request).await?)
    }

    /// Patches the object.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub async fn patch<P: Serialize>(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K> {
        let request = self.raw.request.patch(name, params, &untyped(patch)?);
        decode(&self.raw.text(request).await?)
    }

    /// Patches the object and returns its metadata.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub async fn patch_metadata<P: Serialize>(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<PartialObjectMeta<K>> {
        let patch = untyped(patch)?;
        let request = self.raw.request.patch_metadata(name, params, &patch);
        decode(&self.raw.text(request).await?)
    }

    /// Patches the status of the object.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub async fn patch_status<P: Serialize>(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K> {
        self.patch_subresource("status", name, params, patch).await
    }

    /// Patches a subresource.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub async fn patch_subresource<P: Serialize>(
        &self,
        subresource: &str,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K> {
        let patch = untyped(patch)?;
        let request = &self.raw.request;
        let request = request.patch_subresource(subresource, name, params, &patch);
        decode(&self.raw.text(request).await?)
    }

    /// Deletes the object.
    ///
    /// # Errors
    /// A Status of the API server (404 where there is none), or that it was not reached.
    pub async fn delete(&self, name: &str, params: &DeleteParams) -> Result<Either<K, Status>> {
        let request = self.raw.request.delete(name, params);
        Ok(match self.raw.delete(request).await? {
            Either::Left(object) => Either::Left(decode(&object)?),
            Either::Right(status) => Either::Right(status),
        })
    }

    /// Deletes the objects that match.
    ///
    /// # Errors
    /// A Status of the API server, or that it was not reached.
    pub async fn delete_collection(
        &self,
        params: &DeleteParams,
        which: &ListParams,
    ) -> Result<Either<ObjectList<K>, Status>> {
        let request = self.raw.request.delete_collection(params, which);
        Ok(match self.raw.delete(request).await? {
            Either::Left(list) => Either::Left(decode::<RawList>(&list)?.typed()?),
            Either::Right(status) => Either::Right(status),
        })
    }
}
