package io.jccl.launch;

import io.jccl.rendezvous.Connector;
import io.jccl.rendezvous.HostLookup;
import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Provides the addresses at which a rank looks for rank 0: in every round the addresses of the host on which rank 0
 * most likely runs, and those of some other hosts in turn. The secret decides which host is the right one. For use by
 * one thread.
 */
final class HostSearch implements Connector.Target {

    private static final Logger LOG = LoggerFactory.getLogger(HostSearch.class);

    /**
     * Number of other hosts in a round. A round must not take long if hosts do not answer, and jobs have thousands of
     * hosts.
     */
    private static final int OTHERS_IN_A_ROUND = 7;

    /**
     * Time after which a warning says that rank 0 is not found. Until then rank 0 may be on this host and just be late.
     * In that case the name of its host may rightly resolve to a loopback address.
     */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final List<HostLookup> hosts = new ArrayList<>();
    private final byte[] secret;
    private final long since = System.nanoTime();
    private int next = 1;
    private boolean warned;

    HostSearch(Launch.Address address, byte[] secret) {
        for (String host : address.hosts()) {
            hosts.add(new HostLookup(host, address.port()));
        }
        this.secret = secret;
    }

    @Override
    public Connector.ServerAddress locate() throws IOException {
        List<HostLookup> round = new ArrayList<>(hosts.subList(0, 1));
        for (int i = 0; i < Math.min(OTHERS_IN_A_ROUND, hosts.size() - 1); i++) {
            round.add(hosts.get(next));
            next = next + 1 < hosts.size() ? next + 1 : 1;
        }
        Connector.ServerAddress found = new Connector.ServerAddress(HostLookup.resolve(round), secret);
        if (!warned && System.nanoTime() - since >= PATIENCE_NANOS) {
            String why = explanation();
            warned = !why.isEmpty();
            if (warned) {
                LOG.warn("rank 0 is not found yet: {}", why);
            }
        }
        return found;
    }

    /**
     * Returns the reason why this rank may not find rank 0: all known addresses of rank 0's host are loopback addresses
     * of this host. Returns an empty text otherwise.
     */
    String explanation() {
        List<InetAddress> known =
                hosts.stream().flatMap(one -> one.known().stream()).toList();
        if (known.isEmpty() || !known.stream().allMatch(InetAddress::isLoopbackAddress)) {
            return "";
        }
        return "host=" + hosts.get(0).host() + " is " + text(known)
                + " here, which is this host itself; if rank 0 is on another host, correct the name in /etc/hosts of this"
                + " host, or name an address of rank 0's host in JCCL_RENDEZVOUS on all ranks";
    }

    static String text(List<InetAddress> addresses) {
        return addresses.stream().map(InetAddress::getHostAddress).distinct().collect(Collectors.joining(" "));
    }
}
