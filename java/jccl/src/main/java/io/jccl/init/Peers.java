package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.Encryption;
import io.jccl.config.LaunchSettings;
import io.jccl.config.LoggedOnce;
import io.jccl.config.NetworkSettings;
import io.jccl.config.Settings;
import io.jccl.device.HostIdentity;
import io.jccl.nativelib.NativeSockets;
import io.jccl.parts.InitContext;
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
 * The ranks of a communicator, as they describe themselves: which of them share a host, and which share an isolation
 * domain, in which ranks can map each other's memory. Containers split a host into several domains, with only sockets
 * between them. The plan takes each domain for a host. All ranks have an equal object. Immutable.
 */
final class Peers {

    private final List<PeerInfo> peers;
    private final Map<String, List<Integer>> ranksOfHost;
    private final Map<String, List<Integer>> ranksOfDomain = new LinkedHashMap<>();
    private final List<String> domainOf = new ArrayList<>();
    private final Map<String, Integer> coresOfHost = new HashMap<>();

    /** @param peers the information that each rank sent, by rank */
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
     * Exchanges the information of all ranks; all ranks call this together.
     *
     * @param tuner true if this rank has a tuner plug-in
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
                encryptsData(settings, context.rank()),
                tuner);
        List<byte[]> encoded = context.allGather(mine.encode());
        List<PeerInfo> peers = new ArrayList<>();
        for (int peer = 0; peer < encoded.size(); peer++) {
            peers.add(PeerInfo.decode(peer, encoded.get(peer)));
        }
        Peers all = new Peers(peers);
        status.peers(all.addresses());
        return all;
    }

    /** Returns the addresses of the status servers of all ranks, by rank. */
    List<PeerAddress> addresses() {
        return peers.stream()
                .map(peer -> new PeerAddress(peer.process(), peer.hostId(), peer.statusAddress()))
                .toList();
    }

    /**
     * Returns true if this rank encrypts data connections.
     *
     * @throws BootstrapException if it cannot and encryption is required
     */
    private static boolean encryptsData(Settings settings, int rank) {
        Encryption encryption = settings.get(NetworkSettings.ENCRYPTION);
        if (!encryption.isUsed()) {
            return false;
        }
        String obstacle = NativeSockets.encryptionObstacle();
        if (encryption == Encryption.REQUIRED && !obstacle.isEmpty()) {
            throw new BootstrapException(NetworkSettings.ENCRYPTION.name() + "=required rank=" + rank
                    + ": data connections cannot be encrypted: " + obstacle);
        }
        if (!obstacle.isEmpty()) {
            LoggedOnce.warn(
                    Peers.class,
                    NetworkSettings.ENCRYPTION.name()
                            + "=on: data connections of the communicator are not encrypted, only"
                            + " its control connections are: " + obstacle);
        }
        return obstacle.isEmpty();
    }

    /** Returns true if all ranks encrypt data connections. */
    boolean encryptData() {
        return peers.stream().allMatch(PeerInfo::encryptsData);
    }

    /** Returns what is encrypted, as the end of a line of the log; empty without encryption. */
    String encryption(Settings settings) {
        if (!settings.get(NetworkSettings.ENCRYPTION).isUsed()) {
            return "";
        }
        return encryptData() ? "; TCP connections are encrypted" : "; only control connections are encrypted";
    }

    /** Returns the information of all ranks, by rank. */
    List<PeerInfo> all() {
        return peers;
    }

    /** Returns the address of each rank's reserved port, by rank. */
    List<String> rendezvousAddresses() {
        List<String> addresses = new ArrayList<>();
        for (PeerInfo peer : peers) {
            addresses.add(peer.rendezvousAddress());
        }
        return List.copyOf(addresses);
    }

    /** Returns the information of a rank. */
    PeerInfo get(int rank) {
        return peers.get(rank);
    }

    /** Returns true if rank 0 has a tuner plug-in, which it asks for all ranks. */
    boolean areTuned() {
        return get(0).tuner();
    }

    /** Returns true if two ranks are on one host. */
    boolean sameHost(int one, int other) {
        return peers.get(one).hostId().equals(peers.get(other).hostId());
    }

    /** Returns true if the ranks of each host are threads of one process. */
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

    /** Returns the ranks that cannot use the network plug-in of a rank. If there are any, no rank uses it. */
    List<Integer> ranksWithoutPluginOf(int rank) {
        List<Integer> without = new ArrayList<>();
        for (int peer = 0; peer < peers.size(); peer++) {
            if (!get(peer).netPlugin().equals(get(rank).netPlugin())) {
                without.add(peer);
            }
        }
        return without;
    }

    /** Returns true if every rank has a GPU. */
    boolean allHaveDevices() {
        for (PeerInfo peer : peers) {
            if (peer.device().isEmpty()) {
                return false;
            }
        }
        return true;
    }

    /** Returns true if at least one rank has a GPU. */
    boolean anyHasDevice() {
        for (PeerInfo peer : peers) {
            if (peer.device().isPresent()) {
                return true;
            }
        }
        return false;
    }

    /** Returns the plan's name of a rank's isolation domain. */
    String domainOf(int rank) {
        return domainOf.get(rank);
    }

    /** Returns true if any rank is in another isolation domain than the given rank. */
    boolean hasOtherDomains(int rank) {
        return ranksOfDomain(rank).size() < peers.size();
    }

    /** Returns the ranks of a rank's isolation domain, in ascending order. */
    List<Integer> ranksOfDomain(int rank) {
        return ranksOfDomain.get(domainOf.get(rank));
    }

    /** Returns the ranks of a rank's host, in all isolation domains, in ascending order. */
    List<HostRank> ranksOfHost(int rank) {
        List<HostRank> ranks = new ArrayList<>();
        for (int peer : ranksOfHost.get(peers.get(rank).hostId())) {
            ranks.add(new HostRank(peer, peers.get(peer).numaNode()));
        }
        return ranks;
    }

    /** Returns the ranks of each GPU in ascending order, by host and bus id. Requires that all ranks have a GPU. */
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

    /** Returns the number of processors that the ranks of a rank's host may use together. */
    int coresOfHost(int rank) {
        return coresOfHost.get(peers.get(rank).hostId());
    }

    /**
     * Returns the processors of a rank, and of each rank of its host whose processors overlap with its own, directly or
     * through other ranks. If a launcher binds ranks to parts of hosts, a rank competes for processors only with these
     * ranks.
     */
    List<Processors> processorsSharedWith(int rank) {
        return Processors.sharing(
                get(rank).processors(), processors(ranksOfHost.get(get(rank).hostId())));
    }

    /**
     * Returns the number of processors of a rank's host that fall to the rank's isolation domain, in proportion to its
     * number of ranks; at least one.
     */
    int coresOfDomain(int rank) {
        int host = ranksOfHost.get(peers.get(rank).hostId()).size();
        return Math.max(1, coresOfHost(rank) * ranksOfDomain(rank).size() / host);
    }

    /** Returns the number of isolation domains for each processor of a host, at least 1; the largest of all hosts. */
    double domainsPerCore() {
        double most = 1;
        for (Map.Entry<String, List<Integer>> host : ranksOfHost.entrySet()) {
            long domains =
                    host.getValue().stream().map(domainOf::get).distinct().count();
            most = Math.max(most, (double) domains / coresOfHost.get(host.getKey()));
        }
        return most;
    }

    /** Returns which ranks of one host can pass memory to each other. */
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

    /** Returns a text for the log for each split host, with the domains of its ranks and the remedy. */
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
