//! Learns a vocabulary from texts; the same texts give the same bytes.
//!
//! The crate's trainer numbers the letters that continue a word ("##e") in hash-map order, which differs from run to
//! run, and breaks ties between merges by those numbers. Here every letter is numbered before the trainer begins;
//! everything else depends on counts alone.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use ahash::AHashMap;
use compact_str::CompactString;
use tokenizers::models::bpe::{BpeTrainer, BPE};
use tokenizers::models::wordlevel::WordLevel;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::models::ModelWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{
    AddedToken, NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
    Tokenizer,
};

use crate::{load, Failure};

type Counts = AHashMap<CompactString, u64>;

pub struct Trainer {
    plan: String, // a tokenizer.json whose model is still empty
    plain: Tokenizer,
    words: Counts,
}

/// The letters that a WordPiece vocabulary begins with.
struct Letters {
    known: HashSet<char>,
    pieces: Vec<String>, // "e" for each of them, "##e" for those that continue a word
}

impl Trainer {
    pub fn new(plan: &str) -> Result<Self, Failure> {
        Ok(Trainer { plan: plan.to_owned(), plain: load::from_json(plan)?, words: Counts::default() })
    }

    pub fn add(&mut self, text: &str) -> Result<(), Failure> {
        let mut normalized = NormalizedString::from(text);
        if let Some(normalizer) = self.plain.get_normalizer() {
            normalizer.normalize(&mut normalized)?;
        }
        let mut parts = PreTokenizedString::from(normalized);
        if let Some(pre_tokenizer) = self.plain.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut parts)?;
        }
        for (word, _, _) in parts.get_splits(OffsetReferential::Original, OffsetType::Byte) {
            if let Some(count) = self.words.get_mut(word) {
                *count += 1;
            } else {
                self.words.insert(word.into(), 1);
            }
        }
        Ok(())
    }

    /// The tokenizer.json and the number of its pieces: more than `vocabulary` if letters and special tokens alone
    /// exceed it.
    pub fn finish(&self, vocabulary: usize, least_count: u64) -> Result<(String, usize), Failure> {
        let special = load::special_tokens(&self.plan)?;
        let model: ModelWrapper = match self.plain.get_model() {
            ModelWrapper::WordPiece(model) => self.word_piece(model, special, vocabulary, least_count)?.into(),
            ModelWrapper::BPE(_) => self.byte_bpe(special, vocabulary, least_count)?.into(),
            ModelWrapper::WordLevel(model) => self.word_level(model, special, vocabulary, least_count)?.into(),
            ModelWrapper::Unigram(_) => return Err("a Unigram model cannot be trained".into()),
        };
        let tokenizer = load::with_model(&self.plan, model)?;
        Ok((tokenizer.to_string(false)?, tokenizer.get_vocab_size(true)))
    }

    /// Bounds the vocabulary, since the trainer allocates for the requested size. Each merge joins letters of some
    /// word.
    fn bounded(&self, vocabulary: usize) -> usize {
        let letters: usize = self.words.keys().map(|word| word.len()).sum();
        vocabulary.min(2 * letters + 1000)
    }

    fn letters(&self, room: usize, least_count: u64) -> Letters {
        let mut seen: BTreeMap<char, (u64, bool)> = BTreeMap::new(); // how often, and whether inside a word
        for (word, count) in &self.words {
            for (place, letter) in word.chars().enumerate() {
                let entry = seen.entry(letter).or_default();
                entry.0 += count;
                entry.1 |= place > 0;
            }
        }
        let mut by_count: Vec<_> = seen.into_iter().filter(|(_, (count, _))| *count >= least_count).collect();
        by_count.sort_by_key(|&(letter, (count, _))| (Reverse(count), letter));
        let mut known = HashSet::new();
        let mut pieces = BTreeSet::new();
        for (letter, (_, inside)) in by_count {
            if pieces.len() + 1 + usize::from(inside) > room {
                break;
            }
            known.insert(letter);
            pieces.insert((false, letter));
            if inside {
                pieces.insert((true, letter));
            }
        }
        let pieces =
            pieces.into_iter().map(|(inside, letter)| format!("{}{letter}", if inside { "##" } else { "" })).collect();
        Letters { known, pieces }
    }

    fn word_piece(
        &self,
        empty: &WordPiece,
        special: Vec<AddedToken>,
        vocabulary: usize,
        least_count: u64,
    ) -> Result<WordPiece, Failure> {
        let letters = self.letters(vocabulary.saturating_sub(special.len()), least_count);
        // A word with any other letter is unknown as a whole: there is nothing to learn from it.
        let words: Counts = self
            .words
            .iter()
            .filter(|(word, _)| word.chars().all(|letter| letters.known.contains(&letter)))
            .map(|(word, count)| (word.clone(), *count))
            .collect();
        let first = special.into_iter().chain(letters.pieces.into_iter().map(|piece| AddedToken::from(piece, false)));
        let trainer = BpeTrainer::builder()
            .show_progress(false)
            .vocab_size(self.bounded(vocabulary))
            .min_frequency(least_count)
            .continuing_subword_prefix(empty.continuing_subword_prefix.clone())
            .special_tokens(first.collect())
            .build();
        let mut bpe = BPE::default();
        trainer.do_train(&words, &mut bpe)?;
        let trained = WordPiece::builder()
            .vocab(bpe.get_vocab().into_iter().collect::<AHashMap<_, _>>())
            .unk_token(empty.unk_token.clone())
            .continuing_subword_prefix(empty.continuing_subword_prefix.clone())
            .max_input_chars_per_word(empty.max_input_chars_per_word)
            .build()?;
        Ok(trained)
    }

    fn byte_bpe(&self, special: Vec<AddedToken>, vocabulary: usize, least_count: u64) -> Result<BPE, Failure> {
        let trainer = BpeTrainer::builder()
            .show_progress(false)
            .vocab_size(self.bounded(vocabulary))
            .min_frequency(least_count)
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
            .special_tokens(special)
            .build();
        let mut bpe = BPE::default();
        trainer.do_train(&self.words, &mut bpe)?;
        Ok(bpe)
    }

    fn word_level(
        &self,
        empty: &WordLevel,
        special: Vec<AddedToken>,
        vocabulary: usize,
        least_count: u64,
    ) -> Result<WordLevel, Failure> {
        let mut words: Vec<_> = self.words.iter().filter(|(_, count)| **count >= least_count).collect();
        words.sort_by_key(|&(word, count)| (Reverse(*count), word));
        words.truncate(vocabulary.saturating_sub(special.len()));
        let pieces = special.into_iter().map(|token| token.content);
        let vocab: AHashMap<String, u32> =
            pieces.chain(words.into_iter().map(|(word, _)| word.to_string())).zip(0..).collect();
        WordLevel::builder().vocab(vocab).unk_token(empty.unk_token.clone()).build()
    }
}
