"""Parts of layers with pooled windows and several streams; `tformer.layers` has these names too."""

from typing import Any

from tformer.parameters import tree

__all__ = ["CompressedAttentionParameters", "HyperConnectionParameters"]


@tree
class CompressedAttentionParameters:
    """Compressed attention: one row a token is key and value, and whole windows become one row.

    Queries come from a latent, as in latent attention. A window is pooled by a softmax over its
    tokens, for each coordinate by itself; with two series a token is pooled into the window after
    its own too, by the first series. An indexer chooses windows for each token.

    Parameters
    ----------
    w_q_down : (d_model, d_q) array
        From hidden states to the latent of the queries.
    q_gain : (d_q,) array
        Gain of the RMSNorm of that latent.
    w_q : (H, d_q, d_k) array
        From the latent to queries, whose RMSNorm has no gain.
    w_kv : (d_model, d_k) array
        From hidden states to the rows that are keys and values of all heads.
    kv_gain : (d_k,) array
        Gain of the RMSNorm of these rows.
    w_o_down : (H, d_k, d_c) array
        From the output of each head to what its group adds up.
    w_o : (n_groups, d_c, d_model) array
        From the sum of each group of heads to what is added to the residual stream.
    sinks : (H,) array, optional
        Attention sinks, as in `AttentionParameters`.
    w_pool_kv : (n_series, d_model, d_k) array, optional
        From hidden states to the rows that are pooled; omitted where no windows are pooled.
    w_pool : (n_series, d_model, d_k) array, optional
        From hidden states to the logits of pooling.
    b_pool : (n_series, n_window, d_k) array, optional
        Added to these logits by the place in the window.
    pool_gain : (d_k,) array, optional
        Gain of the RMSNorm of the pooled rows.
    w_index_q : (n_index, d_q, d_i) array, optional
        From the latent to the queries of the indexer; omitted where all windows are read.
    w_index : (d_model, n_index) array, optional
        From hidden states to the weight of each head of the indexer.
    w_index_kv : (n_series, d_model, d_i) array, optional
        As w_pool_kv, for the keys of the indexer.
    w_index_pool : (n_series, d_model, d_i) array, optional
    b_index_pool : (n_series, n_window, d_i) array, optional
    index_gain : (d_i,) array, optional
    """

    w_q_down: Any
    q_gain: Any
    w_q: Any
    w_kv: Any
    kv_gain: Any
    w_o_down: Any
    w_o: Any
    sinks: Any = None
    w_pool_kv: Any = None
    w_pool: Any = None
    b_pool: Any = None
    pool_gain: Any = None
    w_index_q: Any = None
    w_index: Any = None
    w_index_kv: Any = None
    w_index_pool: Any = None
    b_index_pool: Any = None
    index_gain: Any = None


@tree
class HyperConnectionParameters:
    """How a sublayer reads several residual streams and writes to them (hyper-connections).

    The weights of reading, writing and mixing are computed for each token from its normed streams:
    logits are multiplied by a scale, and a bias is added.

    Parameters
    ----------
    w_read : (n_streams, d_model, n_streams) array
        From all streams to the logits of the weights by which they are read.
    b_read : (n_streams,) array
    read_scale : (n_streams or 1,) array
    w_write : (n_streams, d_model, n_streams) array, optional
        To those by which each stream takes what the sublayer answers; omitted, with all that
        follows, where streams are only read.
    b_write : (n_streams,) array, optional
    write_scale : (n_streams or 1,) array, optional
    w_mix : (n_streams, d_model, n_streams, n_streams) array, optional
        To those of the mixing matrix, from each stream to each.
    b_mix : (n_streams, n_streams) array, optional
    mix_scale : (n_streams or 1,) array, optional
    """

    w_read: Any
    b_read: Any
    read_scale: Any
    w_write: Any = None
    b_write: Any = None
    write_scale: Any = None
    w_mix: Any = None
    b_mix: Any = None
    mix_scale: Any = None
