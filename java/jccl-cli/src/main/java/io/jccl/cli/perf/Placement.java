package io.jccl.cli.perf;

import io.jccl.config.LaunchSettings;
import io.jccl.config.Settings;
import io.jccl.device.HostIdentity;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * The hosts and processes of a run's ranks.
 *
 * @param ranks number of ranks
 * @param processes number of processes that contain the ranks
 * @param hosts the names of the ranks' hosts, in the order of the hosts' lowest ranks
 * @param ranksOfFirstHost the ranks on the host of rank 0
 */
record Placement(int ranks, int processes, List<String> hosts, List<Integer> ranksOfFirstHost) {

    private static final int MAX_NAMES = 8;

    Placement {
        hosts = List.copyOf(hosts);
        ranksOfFirstHost = List.copyOf(ranksOfFirstHost);
    }

    /** Gathers the placement from all ranks; all of them must call this. */
    static Placement gather(Exchange exchange, Settings settings) {
        String identity = settings.get(LaunchSettings.HOST_ID).orElseGet(HostIdentity::host);
        String name = settings.get(LaunchSettings.HOST_ID).orElseGet(HostFacts::hostName);
        return of(exchange.all(digest(identity)), exchange.all(name), exchange.all(digest(HostIdentity.process())));
    }

    /**
     * Returns the placement of ranks, from the identities and names of hosts and the identities of processes by rank.
     */
    static Placement of(long[] identities, List<String> names, long[] processes) {
        Map<Long, String> hosts = new LinkedHashMap<>();
        for (int rank = 0; rank < identities.length; rank++) {
            hosts.putIfAbsent(identities[rank], names.get(rank));
        }
        int distinct = (int) LongStream.of(processes).distinct().count();
        List<Integer> ofFirstHost = IntStream.range(0, identities.length)
                .filter(rank -> identities[rank] == identities[0])
                .boxed()
                .toList();
        return new Placement(identities.length, distinct, List.copyOf(hosts.values()), ofFirstHost);
    }

    static long digest(String text) {
        return UUID.nameUUIDFromBytes(text.getBytes(StandardCharsets.UTF_8)).getMostSignificantBits();
    }

    /** Returns a text such as {@code 4 ranks as processes on 2 hosts (a, b)}. */
    String text() {
        String some = String.join(", ", hosts.subList(0, Math.min(MAX_NAMES, hosts.size())));
        String more = hosts.size() > MAX_NAMES ? ", ..." : "";
        return count(ranks, "rank") + form() + " on " + count(hosts.size(), "host") + " (" + some + more + ")";
    }

    private String form() {
        if (processes == ranks) {
            return ranks == 1 ? " as a process" : " as processes";
        }
        return processes == 1 ? " as threads of one process" : " in " + processes + " processes";
    }

    private static String count(int number, String noun) {
        return number + " " + noun + (number == 1 ? "" : "s");
    }
}
