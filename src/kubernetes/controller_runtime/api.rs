//! [`Api`]: the typed API of a resource, with the methods of `kube::Api`.
//!
//! The compiler generates the whole request path of `kube::Api` for each kind. Here the requests
//! have no type parameter; a kind is decoded from JSON text by its [`Codec`].

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
use kueue_lab_codec::Codec;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

/// The API of one kind, in one namespace or in all.
pub struct Api<K> {
    raw: RawApi,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        self.raw.clone().typed()
    }
}

/// An [`Api`] without the type parameter.
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

    /// The object; `None` if it does not exist.
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
        async move { parse::<RawList>(&text.await?) }.boxed()
    }

    /// The text of the deleted object, or the Status that the API server returns instead.
    fn delete(&self, request: Built) -> BoxFuture<'static, Result<Either<String, Status>>> {
        let text = self.text(request);
        async move {
            let text = text.await?;
            let types: TypeMeta = parse(&text)?;
            match types.kind == "Status" {
                true => Ok(Either::Right(parse(&text)?)),
                false => Ok(Either::Left(text)),
            }
        }
        .boxed()
    }
}

type Built = std::result::Result<http::Request<Vec<u8>>, request::Error>;

/// A list with items that are not decoded.
#[derive(serde::Deserialize)]
struct RawList {
    #[serde(default = "v1", rename = "apiVersion")]
    api_version: String,
    #[serde(default = "list")]
    kind: String,
    #[serde(default)]
    metadata: kube::core::ListMeta,
    /// `null` if a Go server has no items.
    items: Option<Vec<Box<RawValue>>>,
}

fn v1() -> String {
    "v1".to_owned()
}

fn list() -> String {
    "List".to_owned()
}

impl RawList {
    fn typed<K: Clone>(self, decode: fn(&str) -> Result<K>) -> Result<ObjectList<K>> {
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

/// Decodes a response.
///
/// # Errors
/// The text is not a valid `T`.
fn decode<K: Codec>(text: &str) -> Result<K> {
    K::decode(text).map_err(Error::SerdeError)
}

/// Decodes a response that is not an object of the kind.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(Error::SerdeError)
}

fn encode<K: Codec>(object: &K) -> Result<Vec<u8>> {
    object
        .encode()
        .map(String::into_bytes)
        .map_err(Error::SerdeError)
}

/// The patch as JSON text, so that building the request has no type parameter.
fn untyped<P: Serialize>(patch: &Patch<P>) -> Result<Patch<Box<RawValue>>> {
    let text = |p: &P| to_raw_value(p).map_err(Error::SerdeError);
    Ok(match patch {
        Patch::Apply(p) => Patch::Apply(text(p)?),
        Patch::Json(p) => Patch::Json(p.clone()),
        Patch::Merge(p) => Patch::Merge(text(p)?),
        Patch::Strategic(p) => Patch::Strategic(text(p)?),
        // `Patch` is non-exhaustive.
        _ => {
            let message = "this form of patch is not supported".to_owned();
            return Err(Error::BuildRequest(request::Error::Validation(message)));
        }
    })
}

impl<K: Resource> Api<K> {
    /// The API of a dynamic kind: all namespaces, or cluster-scoped.
    pub fn all_with(client: Client, kind: &K::DynamicType) -> Self {
        RawApi::new(client, K::url_path(kind, None)).typed()
    }

    /// The API of a dynamic kind in one namespace.
    pub fn namespaced_with(client: Client, namespace: &str, kind: &K::DynamicType) -> Self
    where
        K: Resource<Scope = DynamicResourceScope>,
    {
        RawApi::new(client, K::url_path(kind, Some(namespace))).typed()
    }
}

impl<K: Resource> Api<K> {
    /// The API of a dynamic kind in the default namespace of the client.
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
    /// The API of a kind: all namespaces, or cluster-scoped.
    pub fn all(client: Client) -> Self {
        Self::all_with(client, &K::DynamicType::default())
    }

    /// The API of a kind in one namespace.
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

impl<K: Codec + Clone> Api<K> {
    /// Gets an object.
    ///
    /// # Errors
    /// `Status` of the API server (404 if the object does not exist), or a connection error.
    pub async fn get(&self, name: &str) -> Result<K> {
        let request = self.raw.request.get(name, &GetParams::default());
        decode(&self.raw.text(request).await?)
    }

    /// Gets an object; `None` if it does not exist.
    ///
    /// # Errors
    /// `Status` other than 404, or a connection error.
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>> {
        let request = self.raw.request.get(name, &GetParams::default());
        let text = self.raw.get_opt(request).await?;
        text.as_deref().map(decode).transpose()
    }

    /// Gets the metadata of an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_metadata(&self, name: &str) -> Result<PartialObjectMeta<K>> {
        let request = self.raw.request.get_metadata(name, &GetParams::default());
        decode(&self.raw.text(request).await?)
    }

    /// Gets the metadata of an object; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`get_opt`](Self::get_opt).
    pub async fn get_metadata_opt(&self, name: &str) -> Result<Option<PartialObjectMeta<K>>> {
        let request = self.raw.request.get_metadata(name, &GetParams::default());
        let text = self.raw.get_opt(request).await?;
        text.as_deref().map(decode).transpose()
    }

    /// Lists objects.
    ///
    /// # Errors
    /// `Status` of the API server, or a connection error.
    pub async fn list(&self, params: &ListParams) -> Result<ObjectList<K>> {
        self.raw
            .list(self.raw.request.list(params))
            .await?
            .typed(decode)
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
        self.raw.list(request).await?.typed(decode)
    }

    /// Creates the object.
    ///
    /// # Errors
    /// `Status` of the API server, or a connection error.
    pub async fn create(&self, params: &PostParams, object: &K) -> Result<K> {
        let request = self.raw.request.create(params, encode(object)?);
        decode(&self.raw.text(request).await?)
    }

    /// Creates the object with strict field validation: unknown and duplicate fields are errors.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub async fn create_strict(&self, params: &PostParams, object: &K) -> Result<K> {
        let request = self.raw.request.create(params, encode(object)?);
        let mut request = request.map_err(Error::BuildRequest)?;
        // `PostParams` has no field validation.
        let uri = format!("{}&fieldValidation=Strict", request.uri());
        let uri = uri.replace("?&", "?").parse();
        *request.uri_mut() = uri.map_err(|e| Error::HttpError(http::Error::from(e)))?;
        decode(&self.raw.text(Ok(request)).await?)
    }

    /// Replaces the object; its resource version has to be the newest.
    ///
    /// # Errors
    /// As [`create`](Self::create), 409 where the object was changed since it was read.
    pub async fn replace(&self, name: &str, params: &PostParams, object: &K) -> Result<K> {
        let request = self.raw.request.replace(name, params, encode(object)?);
        decode(&self.raw.text(request).await?)
    }

    /// Replaces the status of the object.
    ///
    /// # Errors
    /// As [`replace`](Self::replace).
    pub async fn replace_status(&self, name: &str, params: &PostParams, object: &K) -> Result<K> {
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
    ) -> Result<K> {
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
    /// `Status` of the API server (404 if the object does not exist), or a connection error.
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
    /// `Status` of the API server, or a connection error.
    pub async fn delete_collection(
        &self,
        params: &DeleteParams,
        list_params: &ListParams,
    ) -> Result<Either<ObjectList<K>, Status>> {
        let request = self.raw.request.delete_collection(params, list_params);
        Ok(match self.raw.delete(request).await? {
            Either::Left(list) => Either::Left(parse::<RawList>(&list)?.typed(decode)?),
            Either::Right(status) => Either::Right(status),
        })
    }
}
