package io.jccl.init;

import io.jccl.config.LaunchSettings;
import io.jccl.config.Settings;
import io.jccl.device.HostIdentity;
import io.jccl.status.CommunicatorStatus;
import io.jccl.status.PeerAddress;
import io.jccl.topology.HostRank;
import io.jccl.topology.NetPlugin;
import io.jccl.topology.PeerReach;
import io.jccl.topology.Processors;
import io.jccl.topology.SysfsDetector;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The ranks of a communicator as they describe themselves: which share a host, and which share an isolation domain, in
 * which ranks map each other's memory. Containers split a host into several domains, with only sockets between them. The
 * plan takes each domain for a host. Equal on every rank. Immutable.
 */
final class Peers {

    private final List<PeerInfo> peers;
    private final Map<String, List<Integer>> ranksOfHost;
    private final Map<String, List<Integer>> ranksOfDomain = new LinkedHashMap<>();
    private final List<String> domainOf = new ArrayList<>();
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
            String domain =
                    isSplit(peer.hostId()) ? peer.hostId() + " (" + peer.isolationDomain() + ")" : peer.hostId();
            domainOf.add(domain);
            ranksOfDomain.computeIfAbsent(domain, key -> new ArrayList<>()).add(rank);
        }
        for (Map.Entry<String, List<Integer>> host : ranksOfHost.entrySet()) {
            coresOfHost.put(host.getKey(), Processors.together(processors(host.getValue())));
        }
    }

    private List<Processors> processors(List<Integer> ranks) {
        List<Processors> processors = new ArrayList<>();
        for (int rank : ranks) {
            processors.add(peers.get(rank).processors());
        }
        return processors;
    }

    /**
     * Exchanges what ranks know of themselves; all call it together.
     *
     * @param tuner whether this rank has a tuner plug-in
     */
    static Peers exchange(InitContext context, NetPlugin.Choice netPlugin, CommunicatorStatus status, boolean tuner) {
        SysfsDetector host = SysfsDetector.ofThisHost();
        Settings settings = context.settings();
        PeerInfo mine = new PeerInfo(
                settings.get(LaunchSettings.HOST_ID).orElseGet(HostIdentity::host),
                HostIdentity.isolationDomain(),
                HostIdentity.process(),
                host.processorsOfThisProcess(),
                host.numaNodeOfThisProcess(),
                PeerDevice.of(settings),
                netPlugin.plugin().map(NetPlugin::name).orElse(""),
                context.membership().rendezvousAddress(),
                status.addresses(context.membership()),
                tuner);
        List<byte[]> all = context.allGather(mine.encode());
        List<PeerInfo> peers = new ArrayList<>();
        for (int peer = 0; peer < all.size(); peer++) {
            peers.add(PeerInfo.decode(peer, all.get(peer)));
        }
        status.peers(peers.stream()
                .map(peer -> new PeerAddress(peer.process(), peer.hostId(), peer.statusAddress()))
                .toList());
        return new Peers(peers);
    }

    /** What each rank sent, by rank. */
    List<PeerInfo> all() {
        return peers;
    }

    /** Where each rank's reserved port is, by rank. */
    List<String> rendezvousAddresses() {
        List<String> addresses = new ArrayList<>();
        for (PeerInfo peer : peers) {
            addresses.add(peer.rendezvousAddress());
        }
        return List.copyOf(addresses);
    }

    /** What a rank sent. */
    PeerInfo get(int rank) {
        return peers.get(rank);
    }

    /** Whether rank 0 has a tuner plug-in, which it asks for all. */
    boolean areTuned() {
        return get(0).tuner();
    }

    /** Whether two ranks are on one host. */
    boolean sameHost(int one, int other) {
        return peers.get(one).hostId().equals(peers.get(other).hostId());
    }

    /** Whether the ranks of each host are threads of one process. */
    boolean oneProcessEach() {
        for (List<Integer> ranks : ranksOfHost.values()) {
            for (int rank : ranks) {
                if (!get(rank).process().equals(get(ranks.get(0)).process())) {
                    return false;
                }
            }
        }
        return true;
    }

    private boolean isSplit(String host) {
        List<Integer> ranks = ranksOfHost.get(host);
        for (int rank : ranks) {
            if (!get(rank).isolationDomain().equals(get(ranks.get(0)).isolationDomain())) {
                return true;
            }
        }
        return false;
    }

    /** The ranks that cannot use the network plug-in that a rank can; all of them have it, or nobody uses it. */
    List<Integer> ranksWithoutPluginOf(int rank) {
        List<Integer> without = new ArrayList<>();
        for (int peer = 0; peer < peers.size(); peer++) {
            if (!get(peer).netPlugin().equals(get(rank).netPlugin())) {
                without.add(peer);
            }
        }
        return without;
    }

    /** Whether every rank has a GPU. */
    boolean allHaveDevices() {
        for (PeerInfo peer : peers) {
            if (peer.device().isEmpty()) {
                return false;
            }
        }
        return true;
    }

    /** Whether some rank has a GPU. */
    boolean anyHasDevice() {
        for (PeerInfo peer : peers) {
            if (peer.device().isPresent()) {
                return true;
            }
        }
        return false;
    }

    /** What the plan calls a rank's isolation domain. */
    String domainOf(int rank) {
        return domainOf.get(rank);
    }

    /** Whether ranks live in other isolation domains than a rank's. */
    boolean hasOtherDomains(int rank) {
        return ranksOfDomain(rank).size() < peers.size();
    }

    /** The ranks of a rank's isolation domain, ascending. */
    List<Integer> ranksOfDomain(int rank) {
        return ranksOfDomain.get(domainOf.get(rank));
    }

    /** The ranks that share a rank's host and its processors, whether it can pass them memory or not; ascending. */
    List<HostRank> ranksOfHost(int rank) {
        List<HostRank> ranks = new ArrayList<>();
        for (int peer : ranksOfHost.get(peers.get(rank).hostId())) {
            ranks.add(new HostRank(peer, peers.get(peer).numaNode()));
        }
        return ranks;
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

    /**
     * The processors of each rank of a rank's host whose processors overlap with its own, directly or through others; it is
     * among them. Where launchers bind ranks to parts of the host, a rank competes with these only.
     */
    List<Processors> processorsSharedWith(int rank) {
        return Processors.sharing(
                get(rank).processors(), processors(ranksOfHost.get(get(rank).hostId())));
    }

    /** An isolation domain's part of its host's processors; at least one. */
    int coresOfDomain(int rank) {
        int host = ranksOfHost.get(peers.get(rank).hostId()).size();
        return Math.max(1, coresOfHost(rank) * ranksOfDomain(rank).size() / host);
    }

    /** Which ranks of one host can pass memory to each other. */
    PeerReach reach() {
        if (ranksOfDomain.size() == ranksOfHost.size()) {
            return PeerReach.ALL;
        }
        Map<Integer, String> domains = new HashMap<>();
        for (int rank = 0; rank < peers.size(); rank++) {
            domains.put(rank, domainOf.get(rank));
        }
        return PeerReach.sameIsolationDomain(domains);
    }

    /** Why hosts are split, as text for the log; empty where none is. */
    List<String> notes() {
        List<String> notes = new ArrayList<>();
        for (String host : ranksOfHost.keySet()) {
            if (isSplit(host)) {
                Map<String, List<Integer>> domains = new LinkedHashMap<>();
                for (int rank : ranksOfHost.get(host)) {
                    domains.computeIfAbsent(peers.get(rank).isolationDomain(), key -> new ArrayList<>())
                            .add(rank);
                }
                notes.add("host=" + host + ": its ranks cannot all pass memory to each other, " + domains.size()
                        + " isolation domains are planned as hosts of their own with sockets between them: " + domains
                        + "; start its processes as one user, and containers with one network namespace"
                        + " (docker run --network=host, hostNetwork: true)");
            }
        }
        return notes;
    }
}
