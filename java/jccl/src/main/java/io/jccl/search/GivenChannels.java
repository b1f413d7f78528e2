package io.jccl.search;

import java.util.Optional;

/**
 * Channels that a file gave.
 *
 * @param graph the channels, at no more than the host's links carry
 * @param note if the file claims more, where and how much
 */
public record GivenChannels(ChannelGraph graph, Optional<String> note) {}
