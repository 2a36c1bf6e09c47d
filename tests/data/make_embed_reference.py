#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
"""Writes embed_reference.json: texts, words, token ids and sentence vectors of all-MiniLM-L6-v2,
made without any code of this project: ids by Hugging Face's tokenizers, vectors by the forward pass
below in float64.

    examples/embed/get_model.sh model
    python3 -m venv venv && venv/bin/pip install tokenizers==0.23.3 numpy==2.4.6
    venv/bin/python tests/data/make_embed_reference.py model > tests/data/embed_reference.json
"""
import json
import math
import pathlib
import struct
import sys

import numpy as np
from tokenizers import Tokenizer

TOKENS_MAX = 256  # max_seq_length of sentence_bert_config.json, which rules over tokenizer.json
LONG = ("Every rank keeps the rows it was given, asks its neighbours for the keys of all the "
        "others, and while those travel it works on what is already there. ")

TEXTS = [
    "",
    "   \t \n \u3000\u00a0\u2003 ",
    "The ferry leaves at dawn.",
    "the ferry leaves at dawn",
    "Crème brûlée, naïve façades and a piñata in São Paulo.",
    "Cre\u0300me bru\u0302le\u0301e, nai\u0308ve fac\u0327ades: the same accents as "
    "combining marks.",
    "今日は天気がいいから、川まで歩こう。",
    "這座城市的橋在夜裡很美。春天来了,花都开了!",
    "서울에서 부산까지 기차로 세 시간쯤 걸린다.",
    "A thumbs up \U0001F44D\U0001F3FD, a family "
    "\U0001F468\u200D\U0001F469\u200D\U0001F467 and a flag \U0001F1E7\U0001F1EA in one line "
    "\U0001F680\U0001F680",
    "Wait... what?! (really?) -- yes; no: \"maybe\" 'so' [ok] {fine} <tag/> #1 @home 50% "
    "$5 a+b=c ~x^y|z `code` \\n",
    "!!!???...,,,;;;:::---___***###",
    "zero\u0000width\u200bspace, soft\u00adhyphen, bell\u0007, escape\u001b[0m, "
    "byte\ufefforder, bad\ufffdbyte",
    "tabs\tand\nline\r\nbreaks\u2028and\u2029separators\u0085next\u000bvertical\u000cfeed",
    "z\u0335\u0321a\u0336\u030al\u0334\u0313g\u0337\u0344o\u0338\u031a marks upon marks "
    "\u20dd e\u0301\u0302\u0303\u0304",
    "Işıl'ın İstanbul'daki kız kardeşi ılık çay içer. IĞDIR, DİYARBAKIR",
    "Straße, GROẞ, Fußgängerübergänge und Äpfel im Öltöpfchen: weiß man's?",
    "ΟΔΥΣΣΕΥΣ ταξιδεύει προς την Ιθάκη· ΣΟΦΟΣ, σοφός.",
    "اللُّغَةُ العَرَبِيَّةُ جَمِيلَةٌ، أليس كذلك؟",
    "שָׁלוֹם עֲלֵיכֶם, מה שלומך היום?",
    "Ｆｕｌｌ－ｗｉｄｔｈ　ｌｅｔｔｅｒｓ　１２３！？ and half-width ｶﾀｶﾅ ﾊﾟﾋﾟ",
    "b" * 100 + " is a word of a hundred letters",
    "b" * 101 + " is one letter longer",
    "ö" * 100 + " " + "e\u0301" * 100 + " " + "lopado" * 30,
    "See https://example.org:8080/a/b_c?q=1&r=%20#top or write to first.last+tag@mail.example.com",
    "3.14159 1,234,567.89 -42 6.02e23 0xFF 10:45 2024-02-29 ½ ² Ⅷ ④ ٣٤ १२",
    "Mixed: Привет, 世界! Γειά σου, κόσμε — hello, мир; こんにちは world ¡Olé!",
    "нести Ёжика в тумане: Й й Ї ї",
    "प्रकाश की गति बहुत तेज़ होती है।",
    "ภาษาไทยไม่มีช่องว่างระหว่างคำ",
    "Việt Nam có nhiều món ăn ngon, như phở và bánh mì.",
    "A [MASK] stands here[SEP]and [CLS] there; [UNK] and [PAD] too, but not [mask] or [ SEP ].",
    "∑ ∫ √2 ≤ ∞ → x ∈ ℝ, 𝔹𝕠𝕝𝕕 𝒮𝒸𝓇𝒾𝓅𝓉 K Å ﬁne ﬂow",
    "don't can't I'm we've o'clock rock'n'roll — “quoted” ‘single’ «guillemets» „low“ … • · ※",
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis unbelievability",
    "\u05d0\u202e\u202dleft and right marks\u202c\u200e\u200f \u2066isolated\u2069",
    "𠀀𠮷野家 豈更 丽 㐀㒲 々〆〇 ㍿ Ꭰꭰ ა Ა ⴀ",
    LONG * 12,
    "word " * 254,
    "これは長い文です。" * 60 + "end",
]


def read_safetensors(path):
    raw = path.read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    tensors = {}
    for name, t in json.loads(raw[8 : 8 + n]).items():
        if name != "__metadata__" and t["dtype"] == "F32":
            a, b = t["data_offsets"]
            values = np.frombuffer(raw[8 + n + a : 8 + n + b], dtype="<f4").astype(np.float64)
            tensors[name] = values.reshape(t["shape"])
    return tensors


def linear(w, name, x):
    return np.einsum("ti,oi->to", x, w[name + ".weight"], optimize=True) + w[name + ".bias"]


def norm(w, name, x, eps):
    mean = x.mean(axis=1, keepdims=True)
    deviation = x - mean
    scaled = deviation / np.sqrt((deviation**2).mean(axis=1, keepdims=True) + eps)
    return scaled * w[name + ".weight"] + w[name + ".bias"]


erf = np.vectorize(math.erf, otypes=[np.float64])


def embed(w, config, ids):
    eps, heads = config["layer_norm_eps"], config["num_attention_heads"]
    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = x + w["embeddings.token_type_embeddings.weight"][0]
    x = norm(w, "embeddings.LayerNorm", x, eps)
    for i in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{i}."
        q, k, v = (np.stack(np.split(linear(w, at + "attention.self." + name, x), heads, axis=1))
                   for name in ("query", "key", "value"))
        logits = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2])
        weights = np.exp(logits - logits.max(axis=2, keepdims=True))
        weights /= weights.sum(axis=2, keepdims=True)
        mixed = np.concatenate(list(weights @ v), axis=1)
        x = norm(w, at + "attention.output.LayerNorm",
                 x + linear(w, at + "attention.output.dense", mixed), eps)
        wide = linear(w, at + "intermediate.dense", x)
        wide = wide * (1 + erf(wide / math.sqrt(2))) / 2
        x = norm(w, at + "output.LayerNorm", x + linear(w, at + "output.dense", wide), eps)
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def main():
    model = pathlib.Path(sys.argv[1])
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS_MAX)
    vocabulary = (model / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert {t: i for i, t in enumerate(vocabulary)} == tokenizer.get_vocab()
    config = json.loads((model / "config.json").read_text())
    weights = read_safetensors(model / "model.safetensors")
    assert len(TEXTS) == 40
    records = []
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        letters = tokenizer.normalizer.normalize_str(text)
        words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(letters)]
        vector = ",".join(f"{v:.7g}" for v in embed(weights, config, ids))
        head = json.dumps({"text": text, "words": words, "ids": ids}, separators=(",", ":"))
        records.append(f'{head[:-1]},"embedding":[{vector}]}}')
    print("[" + ",\n".join(records) + "]")


if __name__ == "__main__":
    main()
