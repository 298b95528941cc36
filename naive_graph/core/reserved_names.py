"""Names of tensor operators, which no operator of numbers may take; listed here as their package may not be imported.

A test checks that these are the rows of the table of tensor operators; user-defined rows are added at run time.
"""

from .compositions import COMPOSITIONS

TENSORS = """
absolute_difference add_n argmax argmin attention avg_pool2d batch_norm batch_to_space batch_to_space_nd
bias_add concat conv2d conv2d_transpose cosine_distance cross cumprod cumsum depth_to_space depthwise_conv2d
dilation2d dropout dynamic_partition einsum expand expand_dims flatten_to_matrix gather gather_elements
gather_nd gemm global_avg_pool2d global_lp_pool2d global_max_pool2d group_norm gru hardmax hinge huber
instance_norm l2_loss layer_norm local_response_norm log_loss log_poisson log_softmax lp_norm lp_pool2d lstm
matmul max_pool2d mean_n mean_pairwise_squared_error mean_squared_error mean_variance_norm nll_loss one_hot pad
reduce_l1 reduce_l2 reduce_log_sum reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum
reduce_sum_square reshape reverse reverse_sequence rms_norm rnn roll scatter_elements scatter_nd
sigmoid_cross_entropy slice softmax softmax_cross_entropy softmax_cross_entropy_loss
softmax_cross_entropy_with_logits space_to_batch space_to_batch_nd space_to_depth sparse_softmax_cross_entropy
sparse_softmax_cross_entropy_with_logits split squeeze stack tile top_k transpose trilu unstack
weighted_cross_entropy_with_logits
"""
TAKEN = set(TENSORS.split()) | COMPOSITIONS.keys()
