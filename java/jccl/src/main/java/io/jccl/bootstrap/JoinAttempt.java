package io.jccl.bootstrap;

import java.util.Map;
import java.util.Optional;

/**
 * How far a process has come that joins a group.
 *
 * @param jobKey what it proves; empty while it does not know that
 * @param outcomes what each address has answered last
 */
public record JoinAttempt(Optional<byte[]> jobKey, Map<String, String> outcomes) {}
