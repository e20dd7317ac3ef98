//! Hugging Face's tokenizers behind the C ABI of include/attn_tokenizers.h, which documents each function.
//!
//! No panic crosses the ABI: it is caught and becomes an error message.

mod load;
mod memory;
mod train;

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

use tokenizers::{parallelism, EncodeInput, Tokenizer};

type Failure = Box<dyn std::error::Error + Send + Sync>;

pub struct AttnTokenizer(Tokenizer);

pub struct AttnTrainer(train::Trainer);

#[derive(Default)]
pub struct AttnTokens {
    ids: Vec<u32>,
    types: Vec<u32>,
    spans: Vec<u64>,
    words: Vec<i64>,
    special: Vec<u8>,
    pieces: String,
    piece_ends: Vec<u64>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct AttnSlice {
    data: *const u8,
    size: usize,
}

#[repr(C)]
pub struct AttnText {
    data: *mut u8,
    size: usize,
}

#[repr(C)]
pub struct AttnTokensView {
    size: usize,
    ids: *const u32,
    types: *const u32,
    spans: *const u64,
    words: *const i64,
    special: *const u8,
    pieces: *const u8,
    piece_ends: *const u64,
}

impl AttnText {
    const NONE: AttnText = AttnText { data: std::ptr::null_mut(), size: 0 };

    fn owned(text: String) -> AttnText {
        let bytes = text.into_bytes().into_boxed_slice();
        let size = bytes.len();
        AttnText { data: Box::into_raw(bytes).cast(), size }
    }
}

/// The elements at `data`. A null pointer, which C++ passes for an empty view, gives an empty slice.
unsafe fn slice<'a, T>(data: *const T, size: usize) -> &'a [T] {
    if data.is_null() || size == 0 {
        &[]
    } else {
        std::slice::from_raw_parts(data, size)
    }
}

unsafe fn utf8<'a>(text: AttnSlice) -> Result<&'a str, Failure> {
    Ok(std::str::from_utf8(slice(text.data, text.size))?)
}

fn panic_text(panic: Box<dyn Any + Send>) -> String {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text.as_str(),
        _ => "a panic without a message",
    };
    format!("the tokenizers library failed: {text}")
}

/// Runs `work`; an error or panic becomes one line of text.
fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(failure)) => Err(failure.to_string()),
        Err(panic) => Err(panic_text(panic)),
    }
    .map_err(|text| text.replace('\n', " "))
}

/// Returns a box to the caller, or null and the reason.
unsafe fn boxed_or_error<T>(result: Result<T, String>, error: *mut AttnText) -> *mut T {
    match result {
        Ok(value) => {
            *error = AttnText::NONE;
            Box::into_raw(Box::new(value))
        }
        Err(text) => {
            *error = AttnText::owned(text);
            std::ptr::null_mut()
        }
    }
}

/// Panics are reported to the caller, not printed. The hook affects only this library's own copy of std.
fn keep_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}

impl AttnTokens {
    /// Fills `pieces` and `piece_ends` from `ids`.
    fn fill_pieces(&mut self, tokenizer: &Tokenizer) {
        let added = tokenizer.get_added_vocabulary().get_added_tokens_decoder();
        self.piece_ends.reserve(self.ids.len());
        for &id in &self.ids {
            if let Some(token) = added.get(&id) {
                self.pieces.push_str(&token.content);
            } else if let Some(piece) = tokenizer.id_to_token(id) {
                self.pieces.push_str(&piece);
            }
            self.piece_ends.push(self.pieces.len() as u64);
        }
    }

    fn encoded(tokenizer: &Tokenizer, input: EncodeInput, add_special: bool) -> Result<Self, Failure> {
        let encoding = tokenizer.encode_char_offsets(input, add_special)?;
        let mut tokens = AttnTokens {
            ids: encoding.get_ids().to_vec(),
            types: encoding.get_type_ids().to_vec(),
            spans: encoding.get_offsets().iter().flat_map(|&(from, to)| [from as u64, to as u64]).collect(),
            words: encoding.get_word_ids().iter().map(|word| word.map_or(-1, i64::from)).collect(),
            special: encoding.get_special_tokens_mask().iter().map(|&mask| mask as u8).collect(),
            ..Default::default()
        };
        tokens.fill_pieces(tokenizer);
        Ok(tokens)
    }

    fn of_ids(tokenizer: &Tokenizer, ids: &[u32]) -> Self {
        let size = ids.len();
        let added = tokenizer.get_added_vocabulary().get_added_tokens_decoder();
        let mut tokens = AttnTokens {
            ids: ids.to_vec(),
            types: vec![0; size],
            spans: vec![0; 2 * size],
            words: vec![-1; size],
            special: ids.iter().map(|id| u8::from(added.get(id).is_some_and(|token| token.special))).collect(),
            ..Default::default()
        };
        tokens.fill_pieces(tokenizer);
        tokens
    }
}

/// # Safety
/// `json` points to its bytes; `error` may be written.
#[no_mangle]
pub unsafe extern "C" fn attn_tokenizer_new(json: AttnSlice, error: *mut AttnText) -> *mut AttnTokenizer {
    keep_quiet();
    boxed_or_error(guarded(|| load::from_json(utf8(json)?).map(AttnTokenizer)), error)
}

/// # Safety
/// `tokenizer` came from attn_tokenizer_new and is not used again.
#[no_mangle]
pub unsafe extern "C" fn attn_tokenizer_free(tokenizer: *mut AttnTokenizer) {
    if !tokenizer.is_null() {
        drop(Box::from_raw(tokenizer));
    }
}

/// # Safety
/// `tokenizer` is alive.
#[no_mangle]
pub unsafe extern "C" fn attn_tokenizer_parts(tokenizer: *const AttnTokenizer) -> AttnText {
    let tokenizer = &(*tokenizer).0;
    let parts = guarded(|| {
        Ok(serde_json::to_string(&serde_json::json!({
            "decoder": tokenizer.get_decoder(),
            "pre_tokenizer": tokenizer.get_pre_tokenizer(),
        }))?)
    });
    parts.map_or(AttnText::NONE, AttnText::owned)
}

/// # Safety
/// `tokenizer` is alive.
#[no_mangle]
pub unsafe extern "C" fn attn_tokenizer_size(tokenizer: *const AttnTokenizer) -> usize {
    (*tokenizer).0.get_vocab_size(true)
}

/// # Safety
/// `tokenizer` is alive; `piece` points to its bytes.
#[no_mangle]
pub unsafe extern "C" fn attn_tokenizer_id(tokenizer: *const AttnTokenizer, piece: AttnSlice) -> i64 {
    let id = utf8(piece).ok().and_then(|piece| (*tokenizer).0.token_to_id(piece));
    id.map_or(-1, i64::from)
}

/// # Safety
/// `tokenizer` is alive; `text` and `pair` point to their bytes; `error` may be written.
#[no_mangle]
pub unsafe extern "C" fn attn_tokenizer_encode(
    tokenizer: *const AttnTokenizer,
    text: AttnSlice,
    pair: AttnSlice,
    add_special: bool,
    error: *mut AttnText,
) -> *mut AttnTokens {
    let tokens = guarded(|| {
        let first = utf8(text)?;
        let input =
            if pair.data.is_null() { EncodeInput::from(first) } else { EncodeInput::from((first, utf8(pair)?)) };
        AttnTokens::encoded(&(*tokenizer).0, input, add_special)
    });
    boxed_or_error(tokens, error)
}

/// # Safety
/// `tokenizer` is alive; `ids` points to `size` numbers; `error` may be written.
#[no_mangle]
pub unsafe extern "C" fn attn_tokenizer_tokens(
    tokenizer: *const AttnTokenizer,
    ids: *const u32,
    size: usize,
    error: *mut AttnText,
) -> *mut AttnTokens {
    boxed_or_error(guarded(|| Ok(AttnTokens::of_ids(&(*tokenizer).0, slice(ids, size)))), error)
}

/// # Safety
/// `tokens` is alive; `view` may be written.
#[no_mangle]
pub unsafe extern "C" fn attn_tokens_view(tokens: *const AttnTokens, view: *mut AttnTokensView) {
    let tokens = &*tokens;
    *view = AttnTokensView {
        size: tokens.ids.len(),
        ids: tokens.ids.as_ptr(),
        types: tokens.types.as_ptr(),
        spans: tokens.spans.as_ptr(),
        words: tokens.words.as_ptr(),
        special: tokens.special.as_ptr(),
        pieces: tokens.pieces.as_ptr(),
        piece_ends: tokens.piece_ends.as_ptr(),
    };
}

/// # Safety
/// `tokens` came from this library and is not used again.
#[no_mangle]
pub unsafe extern "C" fn attn_tokens_free(tokens: *mut AttnTokens) {
    if !tokens.is_null() {
        drop(Box::from_raw(tokens));
    }
}

/// # Safety
/// `tokenizer` is alive; `ids` points to `size` numbers; `text_or_error` may be written.
#[no_mangle]
pub unsafe extern "C" fn attn_tokenizer_decode(
    tokenizer: *const AttnTokenizer,
    ids: *const u32,
    size: usize,
    skip_special: bool,
    text_or_error: *mut AttnText,
) -> bool {
    let text = guarded(|| (*tokenizer).0.decode(slice(ids, size), skip_special));
    let good = text.is_ok();
    *text_or_error = AttnText::owned(text.unwrap_or_else(|error| error));
    good
}

/// # Safety
/// `plan` points to its bytes; `error` may be written.
#[no_mangle]
pub unsafe extern "C" fn attn_trainer_new(plan: AttnSlice, error: *mut AttnText) -> *mut AttnTrainer {
    keep_quiet();
    boxed_or_error(guarded(|| train::Trainer::new(utf8(plan)?).map(AttnTrainer)), error)
}

/// # Safety
/// `trainer` is alive and not shared; `text` points to its bytes; `error` may be written.
#[no_mangle]
pub unsafe extern "C" fn attn_trainer_add(trainer: *mut AttnTrainer, text: AttnSlice, error: *mut AttnText) -> bool {
    let added = guarded(|| (*trainer).0.add(utf8(text)?));
    let good = added.is_ok();
    *error = added.map_or_else(AttnText::owned, |()| AttnText::NONE);
    good
}

/// # Safety
/// `trainer` is alive; `json_or_error` may be written.
#[no_mangle]
pub unsafe extern "C" fn attn_trainer_finish(
    trainer: *const AttnTrainer,
    vocabulary: usize,
    least_count: u64,
    json_or_error: *mut AttnText,
) -> i64 {
    let finish = || guarded(|| (*trainer).0.finish(vocabulary, least_count));
    // Without memory for rayon's threads it panics, and one thread is enough: the same texts give the same bytes.
    let first = finish();
    let result = if first.is_err() && parallelism::get_parallelism() {
        parallelism::set_parallelism(false);
        let second = finish();
        parallelism::set_parallelism(true);
        second
    } else {
        first
    };
    let (text, pieces) = match result {
        Ok((json, pieces)) => (json, pieces as i64),
        Err(error) => (error, -1),
    };
    *json_or_error = AttnText::owned(text);
    pieces
}

/// # Safety
/// `trainer` came from attn_trainer_new and is not used again.
#[no_mangle]
pub unsafe extern "C" fn attn_trainer_free(trainer: *mut AttnTrainer) {
    if !trainer.is_null() {
        drop(Box::from_raw(trainer));
    }
}

/// # Safety
/// `text` came from this library and is not used again.
#[no_mangle]
pub unsafe extern "C" fn attn_text_free(text: AttnText) {
    if !text.data.is_null() {
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(text.data, text.size)));
    }
}
