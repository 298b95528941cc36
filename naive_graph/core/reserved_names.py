"""Names of tensor operators, which no operator of numbers may take; listed here as their package may not be imported.

A test checks that these are the rows of the table of tensor operators; user-defined rows are added at run time.
"""

TENSORS = """
absolute_difference add_n argmax argmin attention avg_pool2d batch_norm batch_to_space batch_to_space_nd
bias_add ceil celu clip concat conv2d conv2d_transpose cosine_distance cross cube cumprod cumsum depth_to_space
depthwise_conv2d dilation2d dropout dynamic_partition einsum elu expand expand_dims flatten_to_matrix fmod
gather gather_elements gather_nd gelu gemm global_avg_pool2d global_lp_pool2d global_max_pool2d
group_norm gru hard_sigmoid hard_swish hardmax hinge huber identity instance_norm l2_loss layer_norm leaky_relu
local_response_norm log_loss log_poisson log_softmax logical_and logical_not logical_or logical_xor
lp_norm lp_pool2d lstm matmul max_pool2d mean_n mean_pairwise_squared_error mean_squared_error
mean_variance_norm mish nll_loss one_hot pad prelu reduce_l1 reduce_l2 reduce_log_sum reduce_logsumexp
reduce_max reduce_mean reduce_min reduce_prod reduce_sum reduce_sum_square relu6 reshape reverse
reverse_sequence rms_norm rnn roll round rsqrt scatter_elements scatter_nd selu shrink sigmoid_cross_entropy silu
slice softmax softmax_cross_entropy softmax_cross_entropy_loss softmax_cross_entropy_with_logits softsign
space_to_batch space_to_batch_nd space_to_depth sparse_softmax_cross_entropy
sparse_softmax_cross_entropy_with_logits split squared_difference squeeze stack swish thresholded_relu tile
top_k transpose trilu unstack weighted_cross_entropy_with_logits
"""
TAKEN = set(TENSORS.split())
