package io.jccl.fuzz;

import io.jccl.search.GraphFile;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.TopologyException;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.TopologyXmlWriter;
import io.jccl.topology.XmlElement;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.SortedMap;
import java.util.TreeMap;

/** Fuzz target: topology descriptions and graph files. The first byte selects which of them is read. */
public final class TopologyFuzz {

    private static final int MAX_MESSAGE = 1000;

    private TopologyFuzz() {}

    /** Reads the bytes; throws unless they are read or are refused with a reason. */
    public static void fuzzerTestOneInput(byte[] data) {
        if (data.length == 0) {
            return;
        }
        byte[] body = Arrays.copyOfRange(data, 1, data.length);
        try {
            if ((data[0] & 1) == 0) {
                XmlElement read = TopologyXmlReader.read(new ByteArrayInputStream(body), "fuzz");
                if (!TopologyXmlReader.read(TopologyXmlWriter.write(read)).equals(read)) {
                    throw new IllegalStateException("changed by writing and reading");
                }
                GraphBuilder.build(read);
            } else {
                GraphFile.read(body, "fuzz");
            }
        } catch (TopologyException e) {
            if (e.getMessage().length() > MAX_MESSAGE || e.getMessage().chars().anyMatch(Character::isISOControl)) {
                throw new IllegalStateException("no clear error", e);
            }
        }
    }

    /** Returns valid inputs, with which a fuzzer starts. */
    public static SortedMap<String, byte[]> seeds() {
        SortedMap<String, byte[]> seeds = new TreeMap<>();
        seeds.put(
                "host",
                """
                0<system version="2">
                <cpu host_hash="0x1" numaid="0" affinity="0000,0000000f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
                <pci busid="0000:01:00.0" class="0x030200" vendor="0x10de" device="0x20b0" link_speed="16.0 GT/s PCIe" link_width="16">
                <gpu dev="0" sm="80" rank="0" gdr="1"><nvlink target="0000:02:00.0" count="12" tclass="0x030200"/></gpu>
                </pci>
                <nic><net name="eth0" dev="0" speed="10000" port="1" latency="0.0" guid="0x1" maxconn="8" gdr="0"/></nic>
                </cpu></system>
                """
                        .getBytes(StandardCharsets.UTF_8));
        seeds.put(
                "graphs",
                """
                1<graphs version="1">
                <graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="24" speedinter="24" latencyinter="0" typeintra="NVL" typeinter="PIX" samechannels="0">
                <channel><net dev="0"/><gpu dev="0"/><gpu dev="1"/><net dev="0"/></channel></graph></graphs>
                """
                        .getBytes(StandardCharsets.UTF_8));
        return seeds;
    }
}
