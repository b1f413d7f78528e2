package io.jccl.topology;

import io.jccl.config.NetworkSettings;
import io.jccl.config.Settings;
import io.jccl.config.TopologySettings;
import io.jccl.config.TransportSettings;
import java.util.Optional;

/**
 * Rules for what paths may use.
 *
 * @param peers whether GPU memory is shared at all: false keeps even ranks on one GPU apart
 * @param peerLevel the farthest type at which two GPUs use each other's memory; if empty, it depends on the host
 * @param gdrLevel the farthest type at which a network card uses a GPU's memory; if empty, it depends on the host
 * @param gdrRead whether cards may read GPU memory in order to send from it; if empty, it depends on the host
 * @param gdrOverChipLink whether cards may use GPU memory that they reach through a CPU's chip-to-chip link
 * @param nvLinkNeighbours whether GPUs without an NVLink to each other use the NVLinks of a third GPU
 * @param networkNeighbours whether GPUs send through the network card of a GPU that they reach by NVLink
 * @param networkNeighboursOverChipLink whether that GPU may reach its card through a CPU's chip-to-chip link
 * @param reach which ranks can use each other's memory at all
 */
public record PathPolicy(
        boolean peers,
        Optional<PathType> peerLevel,
        Optional<PathType> gdrLevel,
        Optional<Boolean> gdrRead,
        boolean gdrOverChipLink,
        boolean nvLinkNeighbours,
        boolean networkNeighbours,
        boolean networkNeighboursOverChipLink,
        PeerReach reach) {

    private static final PathPolicy DEFAULTS = new PathPolicy(
            true, Optional.empty(), Optional.empty(), Optional.empty(), true, true, true, true, PeerReach.ALL);

    /** Returns the policy that applies if no setting is given. */
    public static PathPolicy defaults() {
        return DEFAULTS;
    }

    /** Returns the policy of the settings, in which every rank reaches every other. */
    public static PathPolicy of(Settings settings) {
        return new PathPolicy(
                !settings.get(TransportSettings.P2P_DISABLE),
                type(settings.get(TransportSettings.P2P_LEVEL)),
                type(settings.get(NetworkSettings.NET_GDR_LEVEL)),
                settings.get(NetworkSettings.NET_GDR_READ),
                settings.get(NetworkSettings.NET_GDR_C2C),
                !settings.get(TopologySettings.NVB_DISABLE),
                !settings.get(TopologySettings.PXN_DISABLE),
                settings.get(TopologySettings.PXN_C2C),
                PeerReach.ALL);
    }

    private static Optional<PathType> type(Optional<String> name) {
        return name.isPresent() ? Optional.of(PathType.valueOf(name.get())) : Optional.empty();
    }

    /** Returns this policy for GPUs that send only through network cards of their own. */
    public PathPolicy withoutNetworkNeighbours() {
        return new PathPolicy(
                peers, peerLevel, gdrLevel, gdrRead, gdrOverChipLink, nvLinkNeighbours, false, false, reach);
    }

    /** Returns this policy with another reach. */
    public PathPolicy withReach(PeerReach other) {
        return new PathPolicy(
                peers,
                peerLevel,
                gdrLevel,
                gdrRead,
                gdrOverChipLink,
                nvLinkNeighbours,
                networkNeighbours,
                networkNeighboursOverChipLink,
                other);
    }
}
