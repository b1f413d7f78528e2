package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.config.LaunchSettings;
import io.jccl.config.Settings;
import io.jccl.device.HostIdentity;
import io.jccl.topology.HostRank;
import io.jccl.topology.PeerReach;
import io.jccl.topology.Processors;
import io.jccl.topology.SysfsDetector;
import io.jccl.tuning.HostCosts;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The ranks of a communicator as they describe themselves: which share a host, and which make a machine of the plan, those of
 * one host that can map each other's memory. Containers split a host into several machines, between which only sockets lead.
 * Equal on every rank. Immutable.
 */
final class Peers {

    private final List<PeerInfo> peers;
    private final Map<String, List<Integer>> ranksOfHost;
    private final Map<String, List<Integer>> ranksOfMachine = new LinkedHashMap<>();
    private final List<String> machineOf = new ArrayList<>();
    private final Map<String, Integer> coresOfHost = new HashMap<>();

    /** @param peers what each rank sent, by rank */
    Peers(List<PeerInfo> peers) {
        this.peers = List.copyOf(peers);
        this.ranksOfHost = new LinkedHashMap<>();
        for (int rank = 0; rank < peers.size(); rank++) {
            ranksOfHost
                    .computeIfAbsent(peers.get(rank).hostId(), host -> new ArrayList<>())
                    .add(rank);
        }
        for (int rank = 0; rank < peers.size(); rank++) {
            PeerInfo peer = peers.get(rank);
            String machine = isTorn(peer.hostId()) ? peer.hostId() + " (" + peer.enclosure() + ")" : peer.hostId();
            machineOf.add(machine);
            ranksOfMachine.computeIfAbsent(machine, key -> new ArrayList<>()).add(rank);
        }
        ranksOfHost.forEach((host, ranks) -> coresOfHost.put(
                host,
                Processors.together(
                        ranks.stream().map(rank -> peers.get(rank).processors()).toList())));
    }

    /**
     * Exchanges what ranks know of themselves; all call it together.
     *
     * @throws BootstrapException if settings differ that must be the same
     */
    static Peers exchange(InitContext context, HostCosts costs) {
        SysfsDetector host = SysfsDetector.ofThisMachine();
        Settings settings = context.settings();
        PeerInfo mine = new PeerInfo(
                settings.get(LaunchSettings.HOST_ID).orElseGet(HostIdentity::machine),
                HostIdentity.enclosure(),
                HostIdentity.process(),
                host.processorsOfThisProcess(),
                host.numaNodeOfThisProcess(),
                DeviceEndpoint.of(settings),
                context.membership().meetingPlace(),
                InitSettings.shared(settings, costs));
        List<byte[]> all = context.allGather(mine.encode());
        List<PeerInfo> peers = new ArrayList<>();
        for (int peer = 0; peer < all.size(); peer++) {
            peers.add(PeerInfo.decode(peer, all.get(peer)));
        }
        for (int peer = 1; peer < all.size(); peer++) {
            peers.get(0).requireSameSettings(0, peer, peers.get(peer)); // all ranks find the same difference
        }
        return new Peers(peers);
    }

    /** What each rank sent, by rank. */
    List<PeerInfo> all() {
        return peers;
    }

    /** What a rank sent. */
    PeerInfo get(int rank) {
        return peers.get(rank);
    }

    /** Whether two ranks are on one host. */
    boolean sameHost(int one, int other) {
        return peers.get(one).hostId().equals(peers.get(other).hostId());
    }

    /** Whether the ranks of each host are threads of one process. */
    boolean oneProcessEach() {
        return ranksOfHost.values().stream()
                .allMatch(ranks -> ranks.stream()
                                .map(rank -> peers.get(rank).process())
                                .distinct()
                                .count()
                        == 1);
    }

    private boolean isTorn(String host) {
        return ranksOfHost.get(host).stream()
                        .map(rank -> peers.get(rank).enclosure())
                        .distinct()
                        .count()
                > 1;
    }

    /** What the plan calls the machine of a rank. */
    String machineOf(int rank) {
        return machineOf.get(rank);
    }

    /** Whether ranks live on other machines than a rank's. */
    boolean hasOtherMachines(int rank) {
        return ranksOfMachine(rank).size() < peers.size();
    }

    /** The ranks of a rank's machine, ascending. */
    List<Integer> ranksOfMachine(int rank) {
        return ranksOfMachine.get(machineOf.get(rank));
    }

    /** The ranks that share a rank's host and its processors, whether it can hand them memory or not; ascending. */
    List<HostRank> ranksOfHost(int rank) {
        return ranksOfHost.get(peers.get(rank).hostId()).stream()
                .map(peer -> new HostRank(peer, peers.get(peer).numaNode()))
                .toList();
    }

    /** The ranks of each GPU, in ascending order, by host and bus id; all ranks have one. */
    Map<String, List<Integer>> ranksOfGpus() {
        Map<String, List<Integer>> ranks = new LinkedHashMap<>();
        for (int rank = 0; rank < peers.size(); rank++) {
            PeerInfo peer = peers.get(rank);
            ranks.computeIfAbsent(
                            peer.hostId() + " " + peer.device().orElseThrow().busId(), gpu -> new ArrayList<>())
                    .add(rank);
        }
        return ranks;
    }

    /** The processors that the ranks of a host share: as many as they may use together. */
    int coresOfHost(int rank) {
        return coresOfHost.get(peers.get(rank).hostId());
    }

    /** A machine's part of its host's processors; at least one. */
    int coresOfMachine(int rank) {
        int host = ranksOfHost.get(peers.get(rank).hostId()).size();
        return Math.max(1, coresOfHost(rank) * ranksOfMachine(rank).size() / host);
    }

    /** Which ranks of one host can hand each other memory. */
    PeerReach reach() {
        if (ranksOfMachine.size() == ranksOfHost.size()) {
            return PeerReach.ALL;
        }
        Map<Integer, String> enclosures = new HashMap<>();
        for (int rank = 0; rank < peers.size(); rank++) {
            enclosures.put(rank, machineOf.get(rank));
        }
        return PeerReach.sameEnclosure(enclosures);
    }

    /** Why hosts were torn apart, in words for the log; empty where none was. */
    List<String> notes() {
        List<String> notes = new ArrayList<>();
        ranksOfHost.forEach((host, ranks) -> {
            if (isTorn(host)) {
                Map<String, List<Integer>> parts = new LinkedHashMap<>();
                ranks.forEach(rank -> parts.computeIfAbsent(peers.get(rank).enclosure(), key -> new ArrayList<>())
                        .add(rank));
                notes.add("host=" + host + ": its ranks cannot all hand each other memory, " + parts.size()
                        + " parts are planned as machines of their own with sockets between them: " + parts
                        + "; start its processes as one user, and containers with one network namespace"
                        + " (docker run --network=host, hostNetwork: true)");
            }
        });
        return notes;
    }
}
