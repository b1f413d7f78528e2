package io.jccl.config;

/**
 * Reads {@code NCCL_NET}, NCCL's choice of a network: {@code Socket}, {@code IB}, or the name that a plug-in gives
 * itself. In JCCL the value selects the transport that joins ranks of different hosts.
 */
final class NcclNet {

    static final String NAME = "NCCL_NET";

    private static final String SOCKET = "Socket";
    private static final String IB = "IB";

    private NcclNet() {}

    /** Reads the value for {@code JCCL_NET_PLUGIN}: {@code none} for the two networks that need no plug-in. */
    static NcclReading<String> plugin(String name, String text, NcclReading<String> plain) {
        if (!name.equals(NAME)) {
            return plain;
        }
        boolean own = text.equalsIgnoreCase(SOCKET) || text.equalsIgnoreCase(IB);
        return own ? NcclReading.of(NetworkSettings.NO_PLUGIN) : NcclReading.unset();
    }

    /** Reads the value for {@code JCCL_IB_DISABLE}: true for {@code Socket}. */
    static NcclReading<Boolean> verbs(String name, String text, NcclReading<Boolean> plain) {
        if (!name.equals(NAME)) {
            return plain;
        }
        return text.equalsIgnoreCase(SOCKET) ? NcclReading.of(true) : NcclReading.unset();
    }
}
