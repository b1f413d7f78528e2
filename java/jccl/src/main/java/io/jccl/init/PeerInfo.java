package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.bootstrap.WireException;
import io.jccl.bootstrap.WireReader;
import io.jccl.bootstrap.WireWriter;
import io.jccl.topology.Processors;
import java.util.Optional;

/**
 * What every rank sends to every other before anything is planned.
 *
 * @param hostId differs between hosts
 * @param isolationDomain differs between processes of one host that cannot pass memory to each other
 * @param process differs between processes, on any host
 * @param processors what its process may run on
 * @param numaNode the NUMA node of these processors, -1 if they are of several
 * @param device the GPU that it works on, if it has one
 * @param netPlugin the name of the network plug-in that it can use; empty where there is none
 * @param rendezvousAddress where it is reached when other ranks have failed
 * @param statusAddress where its process is looked into; empty if nobody can
 * @param tuner whether it has a tuner plug-in; rank 0's is asked
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
                .flag(tuner)
                .toBytes();
    }

    /** Reads what {@link #encode()} wrote on rank {@code rank}. */
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
