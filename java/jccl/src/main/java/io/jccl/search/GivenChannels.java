package io.jccl.search;

import java.util.Optional;

/**
 * Channels from a graph file.
 *
 * @param graph the channels, with at most the bandwidth that the host's links carry
 * @param note if the file claims more bandwidth, a message that says where and how much
 */
public record GivenChannels(ChannelGraph graph, Optional<String> note) {}
