//! Strategic merge patch.

use serde_json::Value;

use super::{PatchError, merge_patch};
use crate::kinds::schema::Schema;

/// Carries out a strategic merge patch. Without a schema it behaves like [`merge_patch`].
pub fn strategic(doc: &mut Value, patch: &Value, _schema: Option<&Schema>) -> Result<(), PatchError> {
    merge_patch(doc, patch)
}
