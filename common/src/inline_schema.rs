//! Schemas of the OpenAPI document that stand where a type is used, instead of in the list of
//! named schemas.

/// Gives a type this schema, as an object of JSON.
macro_rules! inline_schema {
    ($name:ident, $schema:tt) => {
        $crate::inline_schema::inline_schema!($name, _generator, $schema);
    };
    ($name:ident, $generator:ident, $schema:tt) => {
        #[cfg(feature = "server")]
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

pub(crate) use inline_schema;
