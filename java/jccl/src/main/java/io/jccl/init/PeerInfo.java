package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.topology.Processors;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.Optional;

/**
 * The information that every rank sends to all others before planning.
 *
 * @param hostId differs between hosts
 * @param isolationDomain differs between processes of one host that cannot pass memory to each other
 * @param process differs between processes, on any host
 * @param processors the processors on which the rank's process may run
 * @param numaNode the NUMA node of these processors; -1 if they belong to several
 * @param device the rank's GPU, if it has one
 * @param netPlugin the name of the network plug-in that the rank can use; empty if there is none
 * @param rendezvousAddress the rank's reserved address, at which the remaining ranks meet after a failure
 * @param statusAddress the address of the process's status server; empty if there is none
 * @param encryptsData true if the rank encrypts data connections; all ranks do or none does
 * @param tuner true if the rank has a tuner plug-in; only rank 0's is used
 */
record PeerInfo(
        String hostId,
        String isolationDomain,
        String process,
        Processors processors,
        int numaNode,
        Optional<PeerDevice> device,
        String netPlugin,
        String rendezvousAddress,
        String statusAddress,
        boolean encryptsData,
        boolean tuner) {

    private static final int MAX_CHARS = 65_535;

    byte[] encode() {
        WireWriter out = new WireWriter();
        out.text(hostId, MAX_CHARS).text(isolationDomain, MAX_CHARS).text(process, MAX_CHARS);
        out.i32(processors.count()).text(processors.allowed(), MAX_CHARS).i32(numaNode);
        out.flag(device.isPresent());
        if (device.isPresent()) {
            device.get().write(out);
        }
        return out.text(netPlugin, MAX_CHARS)
                .text(rendezvousAddress, MAX_CHARS)
                .text(statusAddress, MAX_CHARS)
                .flag(encryptsData)
                .flag(tuner)
                .toBytes();
    }

    /** Reads the bytes that {@link #encode()} wrote on rank {@code rank}. */
    static PeerInfo decode(int rank, byte[] bytes) {
        try {
            WireReader in = new WireReader(bytes);
            PeerInfo info = new PeerInfo(
                    in.text(MAX_CHARS),
                    in.text(MAX_CHARS),
                    in.text(MAX_CHARS),
                    new Processors(in.i32In("cores", 1, Integer.MAX_VALUE), in.text(MAX_CHARS)),
                    in.i32(),
                    in.flag() ? Optional.of(PeerDevice.read(in)) : Optional.empty(),
                    in.text(MAX_CHARS),
                    in.text(MAX_CHARS),
                    in.text(MAX_CHARS),
                    in.flag(),
                    in.flag());
            in.end();
            return info;
        } catch (WireException e) {
            throw new BootstrapException(
                    "rank=" + rank + " bytes=" + bytes.length + ": sent information that makes no sense, "
                            + e.getMessage() + "; use the same JCCL version on all ranks",
                    e);
        }
    }
}
