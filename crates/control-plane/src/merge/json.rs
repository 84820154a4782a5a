//! RFC 6902 and RFC 7386.

use serde_json::Value;

use super::PatchError;

/// Carries out an RFC 6902 patch. `doc` is untouched on error.
pub fn json_patch(doc: &mut Value, patch: &Value) -> Result<(), PatchError> {
    let patch: json_patch::Patch =
        serde_json::from_value(patch.clone()).map_err(|e| PatchError::Malformed(e.to_string()))?;
    json_patch::patch(doc, &patch).map_err(|e| PatchError::Rejected(e.to_string()))
}

/// Carries out an RFC 7386 patch, which must be an object.
pub fn merge_patch(doc: &mut Value, patch: &Value) -> Result<(), PatchError> {
    json_patch::merge(doc, patch);
    Ok(())
}
