package io.jccl.membership;

import java.util.Map;
import java.util.Optional;

/**
 * The progress of a process that joins a group.
 *
 * @param jobKey the key that the process proves; empty while the process does not know it
 * @param outcomes the outcome of the last attempt to connect to each address
 */
public record JoinAttempt(Optional<byte[]> jobKey, Map<String, String> outcomes) {}
