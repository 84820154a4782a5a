//! CEL rules.
use crate::status::Cause;
use serde_json::Value;

/// stub
#[derive(Debug)]
pub struct Rules;

impl Rules {
    /// stub
    pub fn compile(openapi_schema: &Value) -> Result<Option<Self>, Vec<Cause>> {
        let _ = openapi_schema;
        Ok(None)
    }
    /// stub
    pub fn check(&self, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        let _ = (object, old);
        Vec::new()
    }
}
