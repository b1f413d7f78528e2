package io.jccl.control;

import io.jccl.RankOperation;

/**
 * The operation of one rank at one place of its sequence.
 *
 * @param fingerprint a number that is equal on all ranks if they called the same operation; 0 if the operation is not
 *     compared, as with point-to-point transfers, which differ by rank
 * @param operation the operation, for messages
 */
public record OperationRecord(long fingerprint, RankOperation operation) {}
