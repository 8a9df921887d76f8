//! One call of one webhook, and what becomes of a call that fails.

use serde_json::Value;

use super::client::Callers;
use super::matching::Subject;
use super::review::{self, Answer, Question};
use crate::crd::Names;
use crate::kinds::value::Look;
use crate::schema::Schema;
use crate::status::ApiError;

/// What a webhook is asked about: a write, in the version it is asked in.
pub struct Case<'a> {
    /// The write.
    pub subject: &'a Subject<'a>,
    /// The version.
    pub version: &'a str,
    /// The object in that version; null for a delete.
    pub object: &'a Value,
    /// The object before, in that version, or null.
    pub old: &'a Value,
    /// The schema of the version.
    pub schema: Option<&'a Schema>,
    /// Tells this call from every other.
    pub uid: &'a str,
}

/// What a webhook that lets a write pass says.
#[derive(Debug, Default)]
pub struct Consent {
    /// For the client.
    pub warnings: Vec<String>,
    /// The JSON patch it asks for; empty for none.
    pub patch: Vec<u8>,
}

impl Case<'_> {
    fn question(&self) -> Question<'_> {
        Question {
            subject: self.subject,
            version: self.version,
            object: self.object,
            old: self.old,
            uid: self.uid,
        }
    }

    /// The values conditions may name.
    pub fn names(&self) -> Names {
        let mut request = self.question().request();
        if let Some(fields) = request.as_object_mut() {
            fields.remove("object");
            fields.remove("oldObject");
        }
        let mut names = Names::default();
        names.set("object", self.schema, self.object);
        names.set("oldObject", self.schema, self.old);
        names.set("request", None, &request);
        names
    }

    /// Asks the webhook, if its conditions are met.
    ///
    /// # Errors
    /// Its refusal, or that it could not be asked and says that this is one.
    pub async fn ask(
        &self,
        callers: &Callers,
        hook: &Value,
        mutating: bool,
    ) -> Result<Consent, ApiError> {
        let r = self.subject.request;
        let ignored = hook.text("/failurePolicy") == "Ignore";
        let conditions = hook.list("/matchConditions");
        if !conditions.is_empty() {
            match self.subject.meets(conditions, &self.names()) {
                Ok(true) => {}
                Ok(false) => return Ok(Consent::default()),
                Err(_) if ignored => return Ok(Consent::default()),
                Err(why) => return Err(ApiError::forbidden(r.group, r.resource, r.name, &why)),
            }
        }
        let name = hook.text("/name");
        let harmless = matches!(hook.text("/sideEffects"), "None" | "NoneOnDryRun");
        if r.dry_run && !harmless {
            let why = format!("admission webhook {name:?} does not support dry run");
            return Err(ApiError::bad_request(why));
        }
        match self.call(callers, hook, mutating).await {
            Ok(Answer {
                refusal: Some(refusal),
                ..
            }) => Err(refusal),
            Ok(Answer {
                warnings, patch, ..
            }) => Ok(Consent { warnings, patch }),
            Err(why) if ignored => {
                tracing::warn!("webhook {name} failed, and is ignored: {why}");
                Ok(Consent::default())
            }
            Err(why) => Err(ApiError::internal(format!(
                "Internal error occurred: failed calling webhook {name:?}: {why}"
            ))),
        }
    }

    async fn call(
        &self,
        callers: &Callers,
        hook: &Value,
        mutating: bool,
    ) -> Result<Answer, String> {
        let version = review::version(hook);
        let question = self.question().review(version);
        let timeout = u64::try_from(hook.int("/timeoutSeconds")).unwrap_or_default();
        let timeout = if timeout == 0 { 10 } else { timeout.min(30) };
        if hook.has("/clientConfig/service") {
            return Err(self.no_service(hook.at("/clientConfig/service"), timeout));
        }
        let answer = callers
            .ask(hook.at("/clientConfig"), &question, timeout)
            .await?;
        review::read(&answer, version, self.uid, hook.text("/name"), mutating)
    }

    /// Why a webhook behind a Service cannot be called: nothing runs behind Services here.
    fn no_service(&self, service: &Value, timeout: u64) -> String {
        let (namespace, name) = (service.text("/namespace"), service.text("/name"));
        let port = match service.int("/port") {
            0 => 443,
            port => port,
        };
        let path = service.text("/path");
        let reader = self.subject.reader;
        let why = match reader.get("", "services", namespace, name) {
            Some(_) => "this cluster has no network to Services".to_owned(),
            None => format!("service {name:?} not found"),
        };
        format!(
            "failed to call webhook: Post \"https://{name}.{namespace}.svc:{port}{path}?timeout={timeout}s\": {why}"
        )
    }
}
