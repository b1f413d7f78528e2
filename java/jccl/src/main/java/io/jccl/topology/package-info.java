/**
 * What a host is made of: its description as XML, its detection, the graph of nodes and links, and the paths in it.
 *
 * <pre>
 *  nvml ──ManagementLibrary─┐
 * sysfs ──SysfsDetector──▶ XmlElement ◀──TopologyXmlReader/Writer──▶ file
 *                              │ GraphBuilder
 *                              ▼
 *                          Topology ──PathFinder──▶ NodePaths ──Trimmer──▶ Topology
 * </pre>
 */
package io.jccl.topology;
