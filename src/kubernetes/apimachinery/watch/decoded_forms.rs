//! [`DecodedForms`]: the decoded forms of a version of an object.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use smallvec::SmallVec;

/// A decoded object of any type.
type AnyForm = dyn Any + Send + Sync;

/// The decoded forms of a version of an object, at most one of each type. They live as long as a
/// client has them, or as the version after [`keep`](Self::keep).
#[derive(Default)]
pub struct DecodedForms(Mutex<Forms>);

#[derive(Default)]
struct Forms {
    is_kept: bool,
    forms: SmallVec<[Form; 1]>,
}

struct Form {
    shared: Weak<AnyForm>,
    kept: Option<Arc<AnyForm>>,
}

impl DecodedForms {
    /// The form of type `T`, decoded unless a client has it. A type is always decoded by the same
    /// function and from the same encoding: whole, or metadata only.
    ///
    /// # Errors
    /// The error of `decode`.
    pub(crate) fn get_or_decode<T: Send + Sync + 'static, E>(
        &self,
        decode: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        if let Some(form) = self.0.lock().find() {
            return Ok(form);
        }
        let form = Arc::new(decode()?);
        let mut forms = self.0.lock();
        // Another client may have decoded it meanwhile.
        Ok(forms.find().unwrap_or_else(|| {
            forms.add(form.clone());
            form
        }))
    }

    /// Keeps the forms that clients have now or decode later.
    pub fn keep(&self) {
        let mut forms = self.0.lock();
        forms.is_kept = true;
        for form in &mut forms.forms {
            form.kept = form.shared.upgrade();
        }
    }
}

impl Forms {
    fn find<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let mut forms = self.forms.iter();
        forms.find_map(|form| form.shared.upgrade()?.downcast().ok())
    }

    fn add(&mut self, form: Arc<AnyForm>) {
        self.forms.retain(|form| form.shared.strong_count() > 0);
        self.forms.push(Form {
            shared: Arc::downgrade(&form),
            kept: Some(form).filter(|_| self.is_kept),
        });
    }
}

impl fmt::Debug for DecodedForms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DecodedForms")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(forms: &DecodedForms, text: &str) -> Arc<String> {
        let decoded = forms.get_or_decode(|| Ok::<_, ()>(text.to_owned()));
        decoded.unwrap()
    }

    #[test]
    fn a_form_of_each_type_is_decoded_once() {
        let forms = DecodedForms::default();
        assert_eq!(forms.get_or_decode(|| Err::<String, _>("no")), Err("no"));
        let first = decode(&forms, "first");
        assert_eq!(*decode(&forms, "second"), "first");
        assert_eq!(forms.get_or_decode(|| Ok::<_, ()>(7)), Ok(Arc::new(7)));
        assert!(Arc::ptr_eq(&first, &decode(&forms, "third")));
        drop(first);
        assert_eq!(
            *decode(&forms, "fourth"),
            "fourth",
            "no client has the first"
        );
    }

    #[test]
    fn kept_forms_outlive_their_clients() {
        let forms = DecodedForms::default();
        let first = decode(&forms, "first");
        forms.keep();
        drop(first);
        assert_eq!(*decode(&forms, "second"), "first");
        assert_eq!(forms.get_or_decode(|| Ok::<_, ()>(7)), Ok(Arc::new(7)));
        assert_eq!(forms.get_or_decode(|| Ok::<_, ()>(8)), Ok(Arc::new(7)));
    }
}
