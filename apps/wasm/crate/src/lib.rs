//! Everything of Rust that attnscope.wasm links, in one library, since two would each bring Rust's own: the tokenizers,
//! and deflate, PNG and SHA-256 behind the C ABI of include/attn_wasm.h, which documents each function.

use std::io::Write;

use flate2::{write::ZlibEncoder, Compression};
use sha2::{Digest, Sha256};

// Keeps the functions of the other crate in the library.
pub use attn_tokenizers::*;

#[repr(C)]
pub struct AttnBytes {
    data: *mut u8,
    size: usize,
}

impl AttnBytes {
    fn owned(bytes: Vec<u8>) -> AttnBytes {
        let bytes = Box::leak(bytes.into_boxed_slice());
        AttnBytes { data: bytes.as_mut_ptr(), size: bytes.len() }
    }
}

/// SAFETY: `data` is readable for `size` bytes while the result lives; null is no bytes.
unsafe fn slice<'a>(data: *const u8, size: usize) -> &'a [u8] {
    if data.is_null() {
        &[]
    } else {
        std::slice::from_raw_parts(data, size)
    }
}

/// # Safety
/// As include/attn_wasm.h says.
#[no_mangle]
pub unsafe extern "C" fn attn_bytes_free(bytes: AttnBytes) {
    if !bytes.data.is_null() {
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(bytes.data, bytes.size)));
    }
}

/// # Safety
/// As include/attn_wasm.h says.
#[no_mangle]
pub unsafe extern "C" fn attn_deflate(data: *const u8, size: usize) -> AttnBytes {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(slice(data, size)).expect("memory takes every byte");
    AttnBytes::owned(encoder.finish().expect("memory takes every byte"))
}

/// # Safety
/// As include/attn_wasm.h says.
#[no_mangle]
pub unsafe extern "C" fn attn_sha256(data: *const u8, size: usize, digest: *mut u8) {
    let hash = Sha256::digest(slice(data, size));
    std::ptr::copy_nonoverlapping(hash.as_ptr(), digest, hash.len());
}

/// # Safety
/// As include/attn_wasm.h says.
#[no_mangle]
pub unsafe extern "C" fn attn_palette_png(
    width: u32,
    height: u32,
    palette: *const u8,
    colours: usize,
    pixels: *const u8,
) -> AttnBytes {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(slice(palette, 3 * colours));
    let written = encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(slice(pixels, width as usize * height as usize)));
    AttnBytes::owned(if written.is_ok() { out } else { Vec::new() })
}
