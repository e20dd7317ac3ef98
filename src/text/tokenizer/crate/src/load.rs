//! Loads tokenizer.json quickly.
//!
//! The crate first parses the model into a tree of JSON values and converts that. Here the model's text goes straight
//! to the parser of its own type: 6 ms instead of 18 for bert-base-uncased, 46 instead of 106 for GPT-2.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokenizers::models::{bpe::BPE, unigram::Unigram, wordlevel::WordLevel, wordpiece::WordPiece, ModelWrapper};
use tokenizers::{AddedToken, DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, Tokenizer};

use crate::Failure;

#[derive(Deserialize)]
struct File<'a> {
    version: Option<Cow<'a, str>>,
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
    post_processor: Option<PostProcessorWrapper>,
    decoder: Option<DecoderWrapper>,
    #[serde(borrow)]
    model: &'a RawValue,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

fn model(text: &str) -> Result<ModelWrapper, Failure> {
    let head: Head = serde_json::from_str(text)?;
    Ok(match head.kind.as_ref() {
        "BPE" => serde_json::from_str::<BPE>(text)?.into(),
        "WordPiece" => serde_json::from_str::<WordPiece>(text)?.into(),
        "WordLevel" => serde_json::from_str::<WordLevel>(text)?.into(),
        "Unigram" => serde_json::from_str::<Unigram>(text)?.into(),
        other => return Err(format!("unknown model type {other:?}").into()),
    })
}

fn read(json: &str) -> Result<Tokenizer, Failure> {
    let file: File = serde_json::from_str(json)?;
    if file.version.as_ref().is_some_and(|version| version != "1.0") {
        return Err("the version is not 1.0".into());
    }
    let model = model(file.model.get())?;
    Ok(around(model, file))
}

fn around(model: ModelWrapper, file: File) -> Tokenizer {
    let mut tokenizer = Tokenizer::new(model);
    tokenizer.with_normalizer(file.normalizer);
    tokenizer.with_pre_tokenizer(file.pre_tokenizer);
    tokenizer.with_post_processor(file.post_processor);
    tokenizer.with_decoder(file.decoder);
    tokenizer.add_tokens(&file.added_tokens);
    tokenizer
}

/// The tokenizer that `json` describes, with its model replaced.
pub fn with_model(json: &str, model: ModelWrapper) -> Result<Tokenizer, Failure> {
    Ok(around(model, serde_json::from_str(json)?))
}

/// In file order.
pub fn special_tokens(json: &str) -> Result<Vec<AddedToken>, Failure> {
    Ok(serde_json::from_str::<File>(json)?.added_tokens)
}

/// Falls back to the crate's own, slower parser for anything unusual: files from before "type", unknown fields.
pub fn from_json(json: &str) -> Result<Tokenizer, Failure> {
    if let Ok(tokenizer) = read(json) {
        return Ok(tokenizer);
    }
    let mut tokenizer: Tokenizer = serde_json::from_str(json)?;
    tokenizer.with_truncation(None)?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}
