package io.jccl.init;

import io.jccl.PeerTransport;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.Settings;
import io.jccl.init.EngineConnector.Connections;
import io.jccl.planning.CommunicatorPlan;
import io.jccl.search.GraphFile;
import io.jccl.topology.NetPlugin;
import io.jccl.tuning.SocketStreams;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The knowledge of a communicator's ranks that also holds for the communicators that are split off from it, because it
 * describes the same processes. Only communicators of host memory without plug-ins leave an inheritance; all ranks of a
 * communicator do or none does.
 *
 * @param settings the settings of this rank; those that must be the same on all ranks have been compared
 * @param peers the ranks
 * @param surveys the surveys of the ranks
 * @param graphs the file of graphs, if all ranks have the same
 * @param plugin the reason why there is no network plug-in
 * @param planned the plan before tuning
 * @param streams how TCP carries a connection
 * @param connections the transports on which the ranks have agreed
 */
record Inheritance(
        Settings settings,
        Peers peers,
        Surveys surveys,
        Optional<GraphFile> graphs,
        NetPlugin.Choice plugin,
        CommunicatorPlan planned,
        SocketStreams streams,
        Connections connections) {

    /** Returns false if the ranks use GPUs or plug-ins, so that they leave no inheritance. The same on all ranks. */
    boolean isPlain() {
        return peers.all().stream()
                        .allMatch(peer ->
                                peer.device().isEmpty() && peer.netPlugin().isEmpty() && !peer.tuner())
                && !settings.get(AlgorithmSettings.COLLNET_ENABLE);
    }

    /** Returns what a communicator that has inherited from this leaves to those that are split off from it. */
    Inheritance with(
            Peers ofPart,
            Surveys surveysOfPart,
            CommunicatorPlan plannedPart,
            SocketStreams streamsOfPart,
            Connections connectionsOfPart) {
        return new Inheritance(
                settings, ofPart, surveysOfPart, graphs, plugin, plannedPart, streamsOfPart, connectionsOfPart);
    }

    /** Returns true if the given ranks are all ranks, in their order. They then have the same plan. */
    boolean isOfAll(List<Integer> ranks) {
        return ranks.equals(IntStream.range(0, peers.all().size()).boxed().toList());
    }

    /** Returns the description of the given ranks, which get new numbers in their order. */
    Peers peers(List<Integer> ranks) {
        return isOfAll(ranks) ? peers : new Peers(ranks.stream().map(peers::get).toList());
    }

    /** Returns the transports between this rank and the given ranks, which get new numbers in their order. */
    Connections connections(List<Integer> ranks, int newRank) {
        Map<Integer, PeerTransport> known = new HashMap<>();
        connections.transports().forEach(one -> known.put(one.peer(), one));
        List<PeerTransport> transports = new ArrayList<>();
        for (int peer = 0; peer < ranks.size(); peer++) {
            if (peer != newRank) {
                PeerTransport before = known.get(ranks.get(peer));
                transports.add(new PeerTransport(peer, before.kind(), before.reason()));
            }
        }
        return new Connections(transports, connections.slowestInside(), connections.addresses());
    }
}
