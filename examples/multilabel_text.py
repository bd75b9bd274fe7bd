"""
Words that tell topics apart: sparse X and label sets
=====================================================

A document may have several topics. Which words tell about all topics together? Neither the counts
nor the label sets are ever made dense.
"""

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import MultiLabelBinarizer

from projse import ProjSe
from projse.plots import ExplainedDisplay

# %%
# Documents: sixty everyday words, and three of each topic that a document has.

topics = {
    "sport": "match goal team season coach",
    "health": "doctor patient clinic dose trial",
    "money": "bank market price share tax",
    "space": "orbit rocket moon probe launch",
    "music": "song band album concert guitar",
}
everyday = [f"word{j}" for j in range(3000)]
rng = np.random.default_rng(0)
documents, labels = [], []
for _ in range(2000):
    chosen = [topic for topic in topics if rng.random() < 0.3]
    words = list(rng.choice(everyday, 60))
    for topic in chosen:
        words += list(rng.choice(topics[topic].split(), 3))
    documents.append(" ".join(words))
    labels.append(chosen)

counts = CountVectorizer(binary=True)
X = counts.fit_transform(documents).astype(float)
binarizer = MultiLabelBinarizer(sparse_output=True)
Y = sparse.csr_array(binarizer.fit_transform(labels), dtype=float)
print(X.shape, f"{X.nnz / np.prod(X.shape):.1%} filled;", Y.shape[1], "topics")

# %%
# Twenty words, jointly for all topics. After the first words of a topic come those of others:
# what has been said is not said again.

selector = ProjSe(20).fit(X, Y)
words = counts.get_feature_names_out()[selector.selected_]
print(*words[:10])
print(*words[10:])

# %%
# Which topic each word is about. Arrays have no names, so we name columns and rows here.

display = ExplainedDisplay(
    explained=selector.explained_, names=words, output_names=binarizer.classes_
)
display.plot()
